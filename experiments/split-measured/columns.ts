import { formatPercent } from '../../engine/input/format.ts';
import { type Column, type Table, terminalTable } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import type { BatchAnswers } from './batches.ts';
import { AIMS } from './findings.ts';
import type { Ablation, SplitsRun } from './run.ts';
import { ANSWERS, type Answer, deviation, PHASES, type Phase, type SplitAnswers } from './splits.ts';

export const PHASE_TITLES: Readonly<Record<Phase, string>> = { tpot: 'Decode (TPOT)', ttft: 'Prefill (TTFT)' };
const ANSWER_TITLES: Readonly<Record<Answer, string>> = { predicted: 'Predicted', simulated: 'Simulated' };

/** A split in one phase: a row of the tables and of splits.csv. */
export interface PhaseRow {
  readonly split: SplitAnswers;
  readonly phase: Phase;
}

const layersOn = ({ plan }: SplitAnswers, processor: 'cpu' | 'gpu'): number =>
  plan.stages.reduce((sum, stage) => sum + (stage.processor === processor ? stage.to - stage.from : 0), 0);

const COLUMNS: readonly Column<PhaseRow>[] = [
  { title: 'k', key: 'cpu_units', value: ({ split }) => split.cpuUnits, unit: 'count' },
  { key: 'metric', value: ({ phase }) => phase },
  { title: 'CPU\nlayers', key: 'cpu_layers', value: ({ split }) => layersOn(split, 'cpu'), unit: 'count' },
  { title: 'GPU\nlayers', key: 'gpu_layers', value: ({ split }) => layersOn(split, 'gpu'), unit: 'count' },
  {
    title: 'Experts\non CPU',
    key: 'cpu_experts',
    value: ({ split }) => split.cpuExperts ?? 0,
    unit: 'count',
  },
  { title: 'Output', key: 'output', value: ({ split }) => split.plan.output.processor },
  { title: 'Measured', key: 'measured_s', value: ({ split, phase }) => split.measured[phase].median, unit: 'seconds' },
  {
    title: 'Spread',
    key: 'measured_spread',
    value: ({ split, phase }) => split.measured[phase].spread,
    text: ({ split, phase }) => `± ${formatPercent(split.measured[phase].spread)}`,
    align: 'right',
  },
  ...ANSWERS.flatMap((answer): Column<PhaseRow>[] => {
    const error = ({ split, phase }: PhaseRow): number => deviation(split, answer, phase);
    return [
      {
        title: ANSWER_TITLES[answer],
        key: `${answer}_s`,
        value: ({ split, phase }) => split[answer][phase],
        unit: 'seconds',
      },
      {
        title: 'Error',
        key: `${answer}_error`,
        value: (row) => 1 + error(row),
        unit: 'deviation',
        tone: (row) => errorTone(error(row), AIMS.median),
      },
    ];
  }),
  {
    title: 'best',
    key: 'chosen',
    value: ({ split, phase }) => split.chosen[phase],
    text: ({ split, phase }) => (split.chosen[phase] ? '◄ k*' : ''),
  },
];

/** Every split in one phase. */
export function phaseTable(splits: readonly SplitAnswers[], phase: Phase): Table<PhaseRow> {
  return { columns: COLUMNS, rows: splits.map((split) => ({ split, phase })) };
}

/** Every split in both phases. */
export function splitsTable(splits: readonly SplitAnswers[]): Table<PhaseRow> {
  return { columns: COLUMNS, rows: splits.flatMap((split) => PHASES.map((phase) => ({ split, phase }))) };
}

/** Effect of a change to one split. */
export function ablationTable({ splits, ablations }: SplitsRun): Table<Ablation> {
  const half = splits.find(
    ({ cpuUnits, cpuExperts }) => cpuUnits === ablations[0]?.cpuUnits && cpuExperts === undefined,
  );
  const times = (phase: Phase, key: string): Column<Ablation>[] => [
    { title: PHASE_TITLES[phase], key: `${key}_s`, value: ({ measured }) => measured[phase].median, unit: 'seconds' },
    {
      title: 'as\nplanned',
      value: ({ measured }) => half && measured[phase].median / half.measured[phase].median,
      text: ({ measured }) => (half ? `× ${(measured[phase].median / half.measured[phase].median).toFixed(2)}` : ''),
      align: 'right',
    },
  ];
  return {
    columns: [
      { title: 'Change', key: 'change', value: ({ name }) => name, label: true },
      { title: 'k', key: 'cpu_units', value: ({ cpuUnits }) => cpuUnits, unit: 'count' },
      ...times('tpot', 'tpot'),
      ...times('ttft', 'ttft'),
    ],
    rows: ablations,
  };
}

/** Requests that decode together under one split. */
export function batchTable({ batches }: SplitsRun): Table<BatchAnswers> {
  const alone = batches.find(({ batch }) => batch === 1)?.measured.median;
  return {
    columns: [
      { title: 'Requests', key: 'batch', value: ({ batch }) => batch, unit: 'count' },
      { title: 'k', key: 'cpu_units', value: ({ cpuUnits }) => cpuUnits, unit: 'count' },
      { title: 'Step, measured', key: 'measured_s', value: ({ measured }) => measured.median, unit: 'seconds' },
      {
        title: 'Spread',
        key: 'measured_spread',
        value: ({ measured }) => measured.spread,
        text: ({ measured }) => `± ${formatPercent(measured.spread)}`,
        align: 'right',
      },
      ...ANSWERS.flatMap((answer): Column<BatchAnswers>[] => {
        const error = (row: BatchAnswers): number => row[answer] / row.measured.median - 1;
        return [
          { title: ANSWER_TITLES[answer], key: `${answer}_s`, value: (row) => row[answer], unit: 'seconds' },
          {
            title: 'Error',
            key: `${answer}_error`,
            value: (row) => 1 + error(row),
            unit: 'deviation',
            tone: (row) => errorTone(error(row), AIMS.median),
          },
        ];
      }),
      {
        title: 'Tokens a second,\nover one alone',
        key: 'gain',
        value: ({ batch, measured }) => alone && (batch * alone) / measured.median,
        text: ({ batch, measured }) => (alone ? `× ${((batch * alone) / measured.median).toFixed(2)}` : ''),
        align: 'right',
      },
    ],
    rows: batches,
  };
}

/** For a terminal: every split, decode and prefill apart, and the changes to one. */
export function splitsText(run: SplitsRun): string[] {
  return [
    ...PHASES.map(
      (phase) =>
        `${PHASE_TITLES[phase]}, by k: partition units on the CPU\n${terminalTable(phaseTable(run.splits, phase))}`,
    ),
    `One split, with a change\n${terminalTable(ablationTable(run))}`,
    `Requests that decode together under one split\n${terminalTable(batchTable(run))}`,
  ];
}
