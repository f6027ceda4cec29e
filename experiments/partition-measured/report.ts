import { barChart, type Figure } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { cellsTable, partitionTop, regretsTable, whatText } from './columns.ts';
import type { PartitionCell, PartitionsRun } from './run.ts';

const HOW =
  'The CPU and the GPU of this machine share products as HeteroLLM’s GPU and NPU do (4.1): the GPU stands for the NPU, and ' +
  'runs graphs of fixed lengths; everything else runs on the CPU. They hand over by copies and by waiting for the GPU’s queue ' +
  '(naive synchronisation, 3.1).';
const PREDICTED =
  'Predicted and simulated: every part of every cut was run by itself, with the way of its data there and back, and so were ' +
  'attention and what lies between products. What processors take from each other was measured with both multiplying, ' +
  'in prompts and for tokens: while both have parts each keeps that share of its speed, then the longer one goes on alone ' +
  '(a share below one half counts as one half). The simulator is given the same times; it agrees with the prediction where, as here, nothing but the two parts of an ' +
  'operator overlaps. Nothing is fitted to a cell.';
const MODES =
  'The solver of 4.3 takes times of parts from real execution, or predicts them: by a tree or a network that learned from ' +
  'every other part, or by the tree for the second processor and fixed rates for the first (“fixed-rate”), as the paper does. ' +
  'Each choice is judged by the times of real execution.';

export function partitionPage(run: PartitionsRun): NonNullable<Results['page']> {
  const groups = [...new Set(run.cells.map(whatText))];
  return {
    title: 'A tensor on two processors: predicted, simulated, measured',
    ...partitionTop(run),
    sections: [
      {
        title: 'Strategies',
        blocks: [
          {
            kind: 'chart',
            title: 'By strategy',
            note: 'Shorter is better.',
            choose: 'What',
            variants: groups.map((what) => ({
              label: what,
              figure: bars(run.cells.filter((cell) => whatText(cell) === what)),
            })),
          },
          tableBlock(cellsTable(run), { title: 'Every cell' }),
        ],
      },
      {
        title: 'Times that the solver chooses by',
        blocks: [{ kind: 'text', text: MODES }, tableBlock(regretsTable(run))],
      },
      { title: 'What was measured, and how', blocks: [HOW, PREDICTED].map((text) => ({ kind: 'text', text })) },
    ],
  };
}

function bars(cells: readonly PartitionCell[]): Figure {
  const values = (seconds: (cell: PartitionCell) => number): number[] => cells.map((cell) => 1000 * seconds(cell));
  return barChart({
    categories: cells.map(({ strategy }) => strategy),
    categoryTitle: '',
    value: { title: 'milliseconds' },
    series: [
      { name: 'measured', colour: colour(0), values: values(({ measured }) => measured.median) },
      { name: 'predicted', colour: colour(1), values: values(({ predicted }) => predicted) },
      { name: 'simulated', colour: colour(2), values: values(({ simulated }) => simulated) },
    ],
    arrange: 'group',
    horizontal: true,
  });
}
