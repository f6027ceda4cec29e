import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ExpertsPolicy, ReadMethod } from '../../../engine/experts/experts-policy.ts';
import { formatPercent } from '../../../engine/input/format.ts';
import { expectedOf } from '../../../experiments/experts/answers.ts';
import type { KnownMachine } from '../../../experiments/experts/calibrate.ts';
import { drawnTokens } from '../../../experiments/experts/cells.ts';
import { median } from '../../../experiments/report/median.ts';

interface DrawnRun {
  readonly shape: string;
  readonly seed: number;
  readonly tokens: number;
  readonly warmUp: number;
  readonly machines: Readonly<Partial<Record<ReadMethod, KnownMachine>>>;
  readonly cells: readonly {
    readonly policy: ExpertsPolicy;
    readonly measured: Record<'hitRate' | 'readBytes' | 'tokenSeconds', number>;
  }[];
}

const { runs } = JSON.parse(readFileSync('datasets/measured/experts-drawn.json', 'utf8')) as { runs: DrawnRun[] };
const PAGE = readFileSync('docs/measurements/experts.md', 'utf8');

const CELLS = runs.flatMap(({ shape, seed, tokens, warmUp, machines, cells }) =>
  cells.map(({ policy, measured }) => {
    const known = machines[policy.method] as KnownMachine;
    const routing = drawnTokens({ ...known.mixture, tokens, seed });
    return { shape, policy, measured, ...expectedOf({ policy, routing, tokens, warmUp, known }) };
  }),
);
type Cell = (typeof CELLS)[number];

const error = (cell: Cell, whose: 'predicted' | 'simulated', what: 'readBytes' | 'tokenSeconds'): number =>
  Math.abs(cell[whose][what] / cell.measured[what] - 1);

/** Median and worst error of some cells, as the page has them. */
function errors(cells: readonly Cell[], whose: 'predicted' | 'simulated', what: 'readBytes' | 'tokenSeconds'): string {
  const off = cells.map((cell) => error(cell, whose, what));
  return `${formatPercent(median(off))}, ${formatPercent(Math.max(...off))}`;
}

const GROUPS: readonly (readonly [string, (cell: Cell) => boolean])[] = [
  ['all', () => true],
  ...runs.map(({ shape }) => [shape, (cell: Cell) => cell.shape === shape] as const),
  ['`direct`', ({ policy }) => policy.method === 'direct'],
  ['`pread`', ({ policy }) => policy.method === 'pread'],
  ['`mmap`', ({ policy }) => policy.method === 'mmap'],
];

test('the page has the errors of each group of cells', () => {
  for (const [name, isIn] of GROUPS) {
    const cells = CELLS.filter(isIn);
    const figures = (['simulated', 'predicted'] as const).flatMap((whose) => [
      errors(cells, whose, 'tokenSeconds'),
      errors(cells, whose, 'readBytes'),
    ]);
    const row = [name, `${cells.length}`, ...figures];
    const found = PAGE.split('\n').some((line) => {
      const own = line.split('|').slice(1, -1);
      return own.length === row.length && own.every((cell, index) => cell.trim() === row[index]);
    });
    assert.ok(found, `| ${row.join(' | ')} |`);
  }
});

test('hits of slots are the policy’s own, cell by cell', () => {
  for (const { policy, measured, simulated } of CELLS)
    if (policy.method !== 'mmap')
      assert.ok(Math.abs(simulated.hitRate - measured.hitRate) < 1e-9, JSON.stringify(policy));
});

test.run();
