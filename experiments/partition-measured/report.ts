import { barChart, type Figure } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { cellsTable, whatText } from './columns.ts';
import type { PartitionCell, PartitionsRun } from './run.ts';

const HOW =
  'The CPU and the GPU of this machine share products as HeteroLLM’s GPU and NPU do (4.1): the GPU stands for the NPU, and ' +
  'runs graphs of fixed lengths; everything else runs on the CPU. They hand over by copies and by waiting for the GPU’s queue ' +
  '(naive synchronisation, 3.1).';
const PREDICTED =
  'Predicted: every part of every cut was measured once, by itself, with the way of its data there and back; an operator takes ' +
  'as long as the longer of its two parts. What isn’t a product takes what it takes on the CPU alone, which is why those rows ' +
  'are fitted. That the two processors share cores or memory is not predicted.';

export function partitionPage(run: PartitionsRun): NonNullable<Results['page']> {
  const groups = [...new Set(run.cells.map(whatText))];
  return {
    title: 'A tensor on two processors: predicted and measured',
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
    ],
    arrange: 'group',
    horizontal: true,
  });
}
