import { clusterStatements } from '../../datasets/statements.ts';
import { formatDeviation, formatSeconds } from '../../engine/input/format.ts';
import { type Figure, SYMBOLS } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type DiagonalSeries, diagonalChart } from '../report/charts/scatter.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Block, Section } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { ANSWERS, type Answer, type CellAnswers, deviation, type Phase } from './cell.ts';
import { phaseTable } from './columns.ts';
import type { CellsRun } from './run-cells.ts';
import { AIMS, cellName, measureTop } from './summary.ts';

const CLOCK =
  'Measured is the time that the model’s threads had for themselves: wall time less the time for which the system kept ' +
  'them waiting for a processor while other programs ran. On an idle machine the two are equal; the column “wall” has ' +
  'wall time. Spread is half the range of the middle half of the runs.';
const CALIBRATION =
  'Predicted and simulated know this machine from probes alone, which ran in turn with the cells: products of each format ' +
  'with one token and with a prompt, attention over a KV cache in memory and in a cache, appending to it, a layer with ' +
  'next to nothing to multiply, and norms, rotations and gates. No cell that is judged here was fitted to. Weights are in ' +
  'memory before the first run that counts.';

/** Three answers side by side. */
export function measurePage({ cells, profiles }: CellsRun): NonNullable<Results['page']> {
  return {
    title: 'Three answers: predicted, simulated, measured',
    ...measureTop(cells),
    sections: [
      phaseSection(cells, 'tpot', 'Decode: seconds per token (TPOT)'),
      phaseSection(cells, 'ttft', 'Prefill: seconds to the first token (TTFT)'),
      {
        title: 'What was measured, and how',
        blocks: [text(CLOCK), text(CALIBRATION), ...profiles.flatMap(profileBlocks)],
      },
    ],
  };
}

function phaseSection(cells: readonly CellAnswers[], phase: Phase, title: string): Section {
  const variants = ANSWERS.map((answer) => ({ label: answer, figure: scatter(cells, answer, phase) }));
  return {
    title,
    blocks: [
      {
        kind: 'chart',
        title: 'Against what was measured',
        note: `On the dashed line both are equal; above it the model was too slow. The band is the aim for the median error, ± ${100 * AIMS[phase]} %.`,
        choose: 'Answer',
        variants,
      },
      tableBlock(phaseTable(cells, phase), { title: 'Every cell' }),
    ],
  };
}

function profileBlocks({ threads, text: profile }: CellsRun['profiles'][number]): Block[] {
  const name = threads === 1 ? 'The machine with 1 thread' : `The machine with ${threads} threads`;
  const statements = clusterStatements(JSON.parse(profile));
  return [text(provenanceSentence(name, statements)), statementsTable(name.toLowerCase(), statements)];
}

function text(words: string): Block {
  return { kind: 'text', text: words };
}

const NAMES: Readonly<Record<Phase, string>> = { tpot: 'TPOT', ttft: 'TTFT' };

/** Measured against predicted or simulated: a colour per mix, a mark per number of threads. */
function scatter(cells: readonly CellAnswers[], answer: Answer, phase: Phase): Figure {
  const mixes = [...new Set(cells.map(({ model }) => model.mix))];
  const threads = [...new Set(cells.map((cell) => cell.threads))];
  const series = mixes.flatMap((mix, mixIndex) =>
    threads.map((count, threadIndex): DiagonalSeries => {
      const own = cells.filter((cell) => cell.model.mix === mix && cell.threads === count);
      return {
        name: `${mix}, ${count === 1 ? '1 thread' : `${count} threads`}`,
        colour: colour(mixIndex),
        symbol: SYMBOLS[threadIndex % SYMBOLS.length] as (typeof SYMBOLS)[number],
        measured: own.map((cell) => 1000 * cell.measured.own[phase].median),
        found: own.map((cell) => 1000 * cell[answer][phase]),
        hover: own.map((cell) => hoverText(cell, answer, phase)),
      };
    }),
  );
  const [measuredTitle, foundTitle] = [`measured ${NAMES[phase]} (ms)`, `${answer} ${NAMES[phase]} (ms)`];
  return diagonalChart({ measuredTitle, foundTitle, aim: AIMS[phase], series });
}

function hoverText(cell: CellAnswers, answer: Answer, phase: Phase): string {
  const seconds = formatSeconds(cell.measured.own[phase].median);
  const error = formatDeviation(1 + deviation(cell, answer, phase));
  return `${cellName(cell)}<br>measured ${seconds}, ${answer} ${formatSeconds(cell[answer][phase])} (${error})`;
}
