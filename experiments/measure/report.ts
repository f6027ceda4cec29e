import { clusterStatements } from '../../datasets/statements.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Block, Report, Section } from '../lib/report.ts';
import { ANSWERS, type CellAnswers, type Phase } from './cell.ts';
import { CELL_COLUMNS, cellRow, cellTones } from './cell-table.ts';
import type { CellsRun } from './run-cells.ts';
import { scatter } from './scatter.ts';
import { AIMS, findings } from './summary.ts';

const CLOCK =
  'Measured is the time that the model’s threads had for themselves: the clock on the wall less the time for which the ' +
  'system kept them waiting for a processor while other programs ran. On an idle machine the two are equal; the column ' +
  '“wall” has the clock’s. Spread is half the range of the middle half of the runs.';
const CALIBRATION =
  'Predicted and simulated know this machine from probes alone, which ran in turn with the cells: products of each format ' +
  'with one token and with a prompt, attention over a KV cache in memory and in a cache, appending to it, a layer with ' +
  'next to nothing to multiply, and norms, rotations and gates. No cell that is judged here was fitted to. Weights are in ' +
  'memory before the first run that counts.';

/** Three answers side by side. */
export function measureReport({ cells, profiles }: CellsRun, subtitle: string): Report {
  return {
    title: 'Three answers: predicted, simulated, measured',
    subtitle,
    summary: findings(cells),
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
      {
        kind: 'table',
        title: 'Every cell',
        columns: CELL_COLUMNS.map((column, index) => (index === 0 ? { ...column, label: true } : column)),
        rows: cells.map((cell) => cellRow(cell, phase)),
        tones: cells.map((cell) => cellTones(cell, phase)),
        groups: true,
      },
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
