import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import type { Column, Table } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import { median } from '../report/median.ts';
import { errorLine, type PageTop } from '../report/page-top.ts';
import type { PartitionCell, PartitionsRun, Regret } from './run.ts';

/** Errors that are aimed at, over all cells: nothing is fitted to them. */
export const AIMS = { median: 0.1, worst: 0.25 } as const;

const ANSWERS = ['predicted', 'simulated'] as const;
type Answer = (typeof ANSWERS)[number];
const TITLES = { predicted: 'Predicted', simulated: 'Simulated' } as const;

const error = (cell: PartitionCell, answer: Answer): number => cell[answer] / cell.measured.median - 1;

const COLUMNS: readonly Column<PartitionCell>[] = [
  { title: 'What', value: whatText, label: true },
  { key: 'phase', value: ({ phase }) => phase },
  { key: 'tokens', value: ({ tokens }) => tokens },
  { title: 'Products', key: 'strategy', value: ({ strategy }) => strategy, label: true },
  { title: 'Measured', key: 'measured_s', value: ({ measured }) => measured.median, unit: 'seconds' },
  {
    title: 'Spread',
    key: 'measured_spread',
    value: ({ measured }) => measured.spread,
    text: ({ measured }) => `± ${formatPercent(measured.spread)}`,
    align: 'right',
  },
  ...ANSWERS.flatMap((answer): Column<PartitionCell>[] => [
    { title: TITLES[answer], key: `${answer}_s`, value: (cell) => cell[answer], unit: 'seconds' },
    {
      title: 'Error',
      key: `${answer}_error`,
      value: (cell) => 1 + error(cell, answer),
      unit: 'deviation',
      tone: (cell) => errorTone(error(cell, answer), AIMS.median),
    },
  ]),
];

/** Cost of planning by other times than those of real execution. */
export function regretsTable({ regrets }: Pick<PartitionsRun, 'regrets'>): Table<Regret> {
  return {
    columns: [
      { title: 'Prompt', key: 'tokens', value: ({ tokens }) => tokens, unit: 'count' },
      { title: 'Times', key: 'times', value: ({ mode }) => mode, label: true },
      { title: 'Prompt takes longer by', key: 'prefill_regret', value: ({ prefill }) => prefill, unit: 'share' },
      { title: 'Token', key: 'decode_regret', value: ({ decode }) => decode, unit: 'share' },
    ],
    rows: regrets,
  };
}

export function whatText({ phase, tokens }: PartitionCell): string {
  return phase === 'decode' ? 'a token' : `a prompt of ${tokens}`;
}

export function cellsTable({ cells }: PartitionsRun): Table<PartitionCell> {
  const order = (cell: PartitionCell): number => (cell.phase === 'decode' ? 0 : cell.tokens);
  return { columns: COLUMNS, rows: [...cells].sort((one, other) => order(one) - order(other)), groups: true };
}

/** Findings: the gain of sharing for the longest prompt, how near answers come, and what processors take from each other. */
export function partitionTop({ cells, paces: { prefill } }: PartitionsRun): PageTop {
  const longest = Math.max(...cells.map(({ tokens }) => tokens));
  const seconds = (strategy: PartitionCell['strategy']): number =>
    cells.find((cell) => cell.tokens === longest && cell.strategy === strategy)?.measured.median ?? Number.NaN;
  const [shared, cpu, gpu] = [seconds('chosen by the solver'), seconds('CPU alone'), seconds('GPU alone')];
  const errors = (answer: Answer): number[] => cells.map((cell) => Math.abs(error(cell, answer)));
  return {
    headline: `Cut as the solver chooses, a prompt of ${longest} tokens takes ${formatSeconds(shared)}; the CPU alone takes ${formatSeconds(cpu)}, the GPU ${formatSeconds(gpu)}.`,
    findings: [
      errorLine({
        what: `${cells.length} cells`,
        predicted: errors('predicted'),
        simulated: errors('simulated'),
        aim: AIMS.median,
      }),
      `${formatPercent(prefill.gpu)} of its speed is left to the CPU in prompts while the GPU computes, ${formatPercent(prefill.npu)} to the GPU.`,
    ],
  };
}

/**
 * How near answers by measured parts come, what processors take from each other, what the solver's choice costs where it
 * isn't the quickest, and what choosing by learned times costs.
 */
export function partitionFindings({ cells, paces, regrets }: PartitionsRun): string[] {
  const within = ANSWERS.map((answer) => {
    const errors = cells.map((cell) => Math.abs(error(cell, answer)));
    return `${answer} within ${formatPercent(median(errors))} in the median, ${formatPercent(Math.max(...errors))} at worst`;
  });
  const accuracy = `By the times of parts, measured one by one, ${cells.length} cells: ${within.join('; ')} (aims ${formatPercent(AIMS.median)}, ${formatPercent(AIMS.worst)}).`;
  const { prefill, decode } = paces;
  const together = `While both compute, the CPU keeps ${formatPercent(prefill.gpu)} of its speed in prompts and ${formatPercent(decode.gpu)} for tokens, the GPU ${formatPercent(prefill.npu)} and ${formatPercent(decode.npu)}.`;
  const groups = [...new Set(cells.map(whatText))].map((what) => cells.filter((cell) => whatText(cell) === what));
  const losses = groups.map((group) => {
    const chosen = group.find(({ strategy }) => strategy === 'chosen by the solver') as PartitionCell;
    const least = group.reduce((best, one) => (one.measured.median < best.measured.median ? one : best));
    const lost = chosen.measured.median / least.measured.median - 1;
    const took = `${whatText(chosen)} ${formatSeconds(chosen.measured.median)}`;
    return least === chosen || lost <= 0
      ? `${took} (the quickest)`
      : `${took} (${formatPercent(lost)} more than ${least.strategy})`;
  });
  const modes = [...new Set(regrets.map(({ mode }) => mode))].filter((mode) => mode !== 'real');
  const costs = modes.map((mode) => {
    const own = regrets.filter((regret) => regret.mode === mode);
    const worst = Math.max(...own.flatMap(({ prefill: ofPrompt, decode: ofToken }) => [ofPrompt, ofToken]));
    return `${mode} ${formatPercent(worst)}`;
  });
  const learned =
    costs.length === 0
      ? 'Too few parts were measured to learn from.'
      : `Choosing by predicted times costs at worst, by measured ones: ${costs.join(', ')}.`;
  return [accuracy, together, `The solver’s choice takes for ${losses.join(', ')}.`, learned];
}
