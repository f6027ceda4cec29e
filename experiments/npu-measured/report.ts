import { barChart, type Figure } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { cellsTable, npuTop, type PhaseRow, rowsOf, systemText, whatText } from './columns.ts';
import type { NpuRun } from './run.ts';

const HOW =
  'HeteroLLM’s control plane on two threads of this machine. This thread has the GPU’s part of every operator, and all that ' +
  'isn’t a product; another one stands for the NPU: it has graphs of fixed shapes, of which those generated online cost the time ' +
  'that generating them takes, and it is as slow as the stage performance of the cluster’s NPU says (3.2), slowed with the ' +
  'chip until its GPU is as fast as this thread. What is computed is real: logits are those of one processor.';
const SYNCHRONISATION =
  'Fast synchronisation (4.2): both threads see the same memory, so that the NPU’s reads activations and writes results where ' +
  'they are; only rows of a prompt, which don’t lie in one piece, and the last, padded graph are merged. This thread sleeps for ' +
  'as long as the graph should take, then polls. Naive (3.1): messages, whose values are copied there and back.';
const PROBES =
  'Both ways were measured by themselves, and so were the rates of this thread’s products, its attention and what lies between ' +
  'operators, before every round of runs; medians count, and nothing is fitted to a cell. Of the runs of a cell the half counts ' +
  'whose threads waited for processors least. On a machine that others use as well, a thread that polls can lose whole time ' +
  'slices: fast synchronisation is then slower than naive, and neither is predicted well.';
const PREDICTED =
  'Plans are made, predicted and simulated for the slowed chip as for any other (the solver’s prediction mode, 4.3: a GPU of ' +
  'fixed rates and the NPU’s stage performance), and Hetero-tensor once more by real execution: every part that the solver asks ' +
  'for is run by itself, on its thread, and it chooses, and is predicted and simulated, by those times. That two threads share a machine’s cores and caches is not predicted.';

export function npuPage(run: NpuRun): NonNullable<Results['page']> {
  const rows = rowsOf(run);
  const groups = [...new Set(rows.map(whatText))];
  return {
    title: 'Every operator on two processors: predicted, simulated, measured',
    ...npuTop(run),
    sections: [
      {
        title: 'Systems',
        blocks: [
          {
            kind: 'chart',
            title: 'By system',
            note: 'Shorter is better.',
            choose: 'What',
            variants: groups.map((what) => ({
              label: what,
              figure: bars(rows.filter((row) => whatText(row) === what)),
            })),
          },
          tableBlock(cellsTable(run), { title: 'Every cell' }),
        ],
      },
      {
        title: 'What was measured, and how',
        blocks: [HOW, SYNCHRONISATION, PROBES, PREDICTED].map((text) => ({ kind: 'text', text })),
      },
    ],
  };
}

function bars(rows: readonly PhaseRow[]): Figure {
  const values = (seconds: (row: PhaseRow) => number): number[] => rows.map((row) => 1000 * seconds(row));
  return barChart({
    categories: rows.map(systemText),
    categoryTitle: '',
    value: { title: 'milliseconds' },
    series: [
      { name: 'measured', colour: colour(0), values: values(({ answers }) => answers.measured.median) },
      { name: 'predicted', colour: colour(1), values: values(({ answers }) => answers.predicted) },
      { name: 'simulated', colour: colour(2), values: values(({ answers }) => answers.simulated) },
    ],
    arrange: 'group',
    horizontal: true,
  });
}
