import { clusterStatements } from '../../datasets/statements.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Section } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { ablationTable, batchTable, phaseTable } from './columns.ts';
import { splitTop } from './findings.ts';
import type { SplitsRun } from './run.ts';
import type { Phase, SplitAnswers } from './splits.ts';

const HOW =
  'Predicted and simulated know this machine from probes alone, which ran in turn with the splits: no split that is judged ' +
  'was fitted to. Times are those of the clock on the wall, of a model whose weights are in memory, on the CPU’s side and on the GPU’s.';

/** Three answers for every boundary, and the latencies of single tokens. */
export function splitsPage(run: SplitsRun): NonNullable<Results['page']> {
  const statements = clusterStatements(JSON.parse(run.profile));
  return {
    title: 'Half on the GPU: predicted, simulated, measured',
    ...splitTop(run),
    sections: [
      phaseSection(run, 'tpot', 'Decode: seconds per token (TPOT)'),
      phaseSection(run, 'ttft', 'Prefill: seconds to the first token (TTFT)'),
      {
        title: 'Latencies of single tokens',
        blocks: [
          {
            kind: 'chart',
            title: 'Share of tokens that took no longer',
            note: 'Every decoded token of every run that counts (compare HELM Fig. 6.2).',
            variants: [{ label: 'all', figure: latencies(run.splits) }],
          },
          tableBlock(ablationTable(run), { title: 'One split, with a change' }),
        ],
      },
      {
        title: 'Requests that decode together',
        blocks: [
          {
            kind: 'text',
            text: 'A step gives each request a token and reads every weight once for all of them; attention is by request.',
          },
          tableBlock(batchTable(run), { title: 'By number of requests' }),
        ],
      },
      {
        title: 'What was measured, and how',
        blocks: [
          { kind: 'text', text: HOW },
          { kind: 'text', text: provenanceSentence('This machine', statements) },
          statementsTable('this machine', statements),
        ],
      },
    ],
  };
}

function phaseSection({ splits }: SplitsRun, phase: Phase, title: string): Section {
  return {
    title,
    blocks: [
      {
        kind: 'chart',
        title: 'By boundary',
        note: 'k: partition units on the CPU, the embedding first and the output layer last. k = 0 is all on the GPU.',
        variants: [{ label: 'all', figure: curve(splits.filter(isWhole), phase) }],
      },
      tableBlock(phaseTable(splits, phase), { title: 'Every split' }),
    ],
  };
}

/** A split of whole layers, of which every k has one. */
const isWhole = ({ cpuExperts }: SplitAnswers): boolean => cpuExperts === undefined;

function curve(splits: readonly SplitAnswers[], phase: Phase): Figure {
  const x = splits.map(({ cpuUnits }) => cpuUnits);
  const series = (name: string, index: number, seconds: (split: SplitAnswers) => number) => ({
    name,
    colour: colour(index),
    x,
    y: splits.map((split) => 1000 * seconds(split)),
  });
  const chosen = splits.filter((split) => split.chosen[phase]);
  return lineChart({
    x: { title: 'k: partition units on the CPU' },
    y: { title: phase === 'tpot' ? 'TPOT (ms)' : 'TTFT (ms)' },
    series: [
      series('measured', 0, ({ measured }) => measured[phase].median),
      {
        ...series('predicted', 1, ({ predicted }) => predicted[phase]),
        dash: 'dash',
        symbol: 'circle-open',
        symbolSize: 13,
      },
      { ...series('simulated', 2, ({ simulated }) => simulated[phase]), dash: 'dot' },
      {
        name: 'k*, chosen by prediction',
        colour: colour(3),
        x: chosen.map(({ cpuUnits }) => cpuUnits),
        y: chosen.map(({ measured }) => 1000 * measured[phase].median),
        mode: 'markers',
        symbol: 'star',
        symbolSize: 14,
      },
    ],
  });
}

/** Cumulative shares: all on the CPU, all on the GPU, half, and what was chosen. */
function latencies(all: readonly SplitAnswers[]): Figure {
  const splits = all.filter(isWhole);
  const shown = [
    { name: 'all on the CPU', split: splits.at(-1) },
    { name: 'half on each', split: splits[Math.floor(splits.length / 2)] },
    { name: 'all on the GPU', split: splits[0] },
  ];
  return lineChart({
    x: { title: 'a token (ms)', scale: 'log' },
    y: { title: 'share of tokens (%)', range: [0, 100] },
    series: shown.flatMap(({ name, split }, index) => {
      if (split === undefined) return [];
      const sorted = split.measured.tokens.map((seconds) => 1000 * seconds).sort((one, other) => one - other);
      const y = sorted.map((_, position) => (100 * (position + 1)) / sorted.length);
      return [{ name, colour: colour(index), x: sorted, y, mode: 'lines' as const }];
    }),
  });
}
