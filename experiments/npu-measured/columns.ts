import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import type { Column, Table } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import { median } from '../report/median.ts';
import { errorLine, type PageTop } from '../report/page-top.ts';
import type { Answers, NpuCell, NpuRun, Regret } from './run.ts';

/** Errors that are aimed at, over all cells. */
export const AIMS = { median: 0.1, worst: 0.25 } as const;

export const PHASES = ['prefill', 'decode'] as const;
export type Phase = (typeof PHASES)[number];
const ANSWERS = ['predicted', 'simulated'] as const;
const TITLES = { predicted: 'Predicted', simulated: 'Simulated' } as const;

/** A cell in one phase: a row of the table and of cells.csv. */
export interface PhaseRow extends Pick<NpuCell, 'system' | 'mode' | 'synchronisation' | 'tokens'> {
  readonly phase: Phase;
  readonly answers: Answers;
}

/** Decoding is alike after every prompt, so that it is shown after the first alone. */
export function rowsOf({ cells }: NpuRun): PhaseRow[] {
  const [first] = cells;
  return PHASES.flatMap((phase) =>
    cells
      .filter(({ tokens }) => phase === 'prefill' || tokens === first?.tokens)
      .map(({ system, mode, synchronisation, tokens, [phase]: answers }) => ({
        ...{ system, mode, synchronisation, tokens, phase, answers },
      })),
  );
}

export function whatText({ phase, tokens }: PhaseRow): string {
  return phase === 'decode' ? 'a token' : `a prompt of ${tokens}`;
}

export function systemText({ system, mode, synchronisation }: Omit<PhaseRow, 'phase' | 'answers' | 'tokens'>): string {
  if (mode === 'real execution') return `${system}, by real execution`;
  return synchronisation === 'naive' ? `${system}, naive` : system;
}

const error = ({ answers }: PhaseRow, answer: (typeof ANSWERS)[number]): number =>
  answers[answer] / answers.measured.median - 1;

const COLUMNS: readonly Column<PhaseRow>[] = [
  { title: 'What', value: whatText, label: true },
  { key: 'phase', value: ({ phase }) => phase },
  { key: 'tokens', value: ({ tokens }) => tokens },
  { title: 'System', value: systemText, label: true },
  { key: 'system', value: ({ system }) => system },
  { key: 'solver', value: ({ mode }) => mode },
  { key: 'synchronisation', value: ({ synchronisation }) => synchronisation },
  { title: 'Measured', key: 'measured_s', value: ({ answers }) => answers.measured.median, unit: 'seconds' },
  {
    title: 'Spread',
    key: 'measured_spread',
    value: ({ answers }) => answers.measured.spread,
    text: ({ answers }) => `± ${formatPercent(answers.measured.spread)}`,
    align: 'right',
  },
  ...ANSWERS.flatMap((answer): Column<PhaseRow>[] => [
    { title: TITLES[answer], key: `${answer}_s`, value: ({ answers }) => answers[answer], unit: 'seconds' },
    {
      title: 'Error',
      key: `${answer}_error`,
      value: (row) => 1 + error(row, answer),
      unit: 'deviation',
      tone: (row) => errorTone(error(row, answer), AIMS.median),
    },
  ]),
];

export function cellsTable(run: NpuRun): Table<PhaseRow> {
  return { columns: COLUMNS, rows: rowsOf(run), groups: true };
}

/** Findings: the gain of sharing for the first prompt, how near the answers come, and the cost of handing over. */
export function npuTop(run: NpuRun): PageTop {
  const rows = rowsOf(run);
  const { fast, naive } = run.measured.handOver;
  const lines = PHASES.map((phase) => {
    const own = rows.filter((row) => row.phase === phase);
    const errors = (answer: (typeof ANSWERS)[number]): number[] => own.map((row) => Math.abs(error(row, answer)));
    return errorLine({
      what: phase === 'prefill' ? 'prompts' : 'tokens',
      predicted: errors('predicted'),
      simulated: errors('simulated'),
      aim: AIMS.median,
    });
  });
  const handing = `${formatSeconds(fast)} to hand a graph over and back with fast synchronisation, ${formatSeconds(naive)} with naive.`;
  return { headline: gains(rows)[0] ?? '', findings: [...lines, handing] };
}

/** How near the answers come, what sharing gains, and what handing over costs. */
export function npuFindings(run: NpuRun): string[] {
  const rows = rowsOf(run);
  return [...PHASES.map((phase) => accuracy(rows, phase)), ...gains(rows), ...run.regrets.map(regret), handOver(run)];
}

function accuracy(rows: readonly PhaseRow[], phase: Phase): string {
  const own = rows.filter((row) => row.phase === phase);
  const errors = ANSWERS.map((answer) => {
    const found = own.map((row) => Math.abs(error(row, answer)));
    return `${answer} within ${formatPercent(median(found))} in the median, ${formatPercent(Math.max(...found))} at worst`;
  });
  const name = phase === 'prefill' ? 'Prompts' : 'Tokens';
  return `${name}, ${own.length} cells: ${errors.join('; ')} (aims ${formatPercent(AIMS.median)}, ${formatPercent(AIMS.worst)}).`;
}

function gains(rows: readonly PhaseRow[]): string[] {
  const seconds = (what: string, system: string): number | undefined =>
    rows.find((row) => whatText(row) === what && systemText(row) === system)?.answers.measured.median;
  return [...new Set(rows.map(whatText))].flatMap((what) => {
    const [cut, gpu, npu] = ['hetero-tensor', 'gpu-only', 'npu-only'].map((system) => seconds(what, system));
    if (cut === undefined || gpu === undefined || npu === undefined) return [];
    const times = (other: number): string => `${(other / cut).toFixed(2)} ×`;
    return `Hetero-tensor takes ${formatSeconds(cut)} for ${what}: ${times(gpu)} as fast as the GPU’s thread alone, ${times(npu)} as the NPU’s.`;
  });
}

function regret({ tokens, prefill, decode }: Regret): string {
  return `By the times of parts that were run, hetero-tensor’s choice by prediction takes ${formatPercent(prefill)} longer for a prompt of ${tokens} than its choice by real execution, and ${formatPercent(decode)} for a token.`;
}

function handOver({ measured: { handOver: found } }: NpuRun): string {
  return `Handing a graph over and back costs ${formatSeconds(found.fast)} with fast synchronisation, ${formatSeconds(found.naive)} with naive.`;
}
