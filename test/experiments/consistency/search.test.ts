import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Cell,
  held,
  judge,
  type Problem,
  priors,
  type Unknown,
} from '../../../experiments/consistency/problem.ts';
import { contradictedCells, scan } from '../../../experiments/consistency/scan.ts';
import { bestIndex, chooseValues, leaveOneOut } from '../../../experiments/consistency/search.ts';

const cell = (row: string, published: number, table = 'Table 1', system = 'a'): Cell => ({
  name: `${table} · ${system} · ${row}`,
  table,
  system,
  row,
  model: row,
  published,
});

const unknown = (name: string, prior: number, values: readonly number[]): Unknown => ({
  name,
  unit: 'GiB',
  printed: undefined,
  prior,
  reason: '',
  values,
  sees: () => true,
  seen: 'all cells',
});

/** Models of 1 to 8 GiB on a device: 0.1 s a GiB in memory; a model that doesn't fit is read from the disk, all of it. */
const seconds = (gib: number, ram: number, disk: number): number => (gib <= ram ? 0.1 * gib : gib / disk);

const quarters = Array.from({ length: 29 }, (_, index) => 1 + index / 4);
const RAM = unknown('ram', 3, quarters);
const DISK = unknown('disk', 1, [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 2]);

/** Cells as they come out with 5 GiB of RAM and a disk of 0.5 GiB/s. */
const device: Problem = {
  name: 'device',
  unknowns: [RAM, DISK],
  cells: [1, 2, 4, 5, 6, 8].map((gib) => cell(String(gib), seconds(gib, 5, 0.5), gib < 5 ? 'Table 1' : 'Table 2')),
  tolerance: 0.3,
  answer: ({ row }, { ram = 0, disk = 0 }) => seconds(Number(row), ram, disk),
  used: {},
};

test('the prior stays unless another value is better; then the middle of the nearest run of best values is taken', () => {
  assert.is(bestIndex([2, 2, 2], 1), 1);
  assert.is(bestIndex([0, 3, 3, 3, 3], 0), 3);
  assert.is(bestIndex([5, 5, 0, 0, 5, 5, 5], 2), 0);
  assert.is(bestIndex([5, 5, 0, 0, 5, 5, 5, 5], 3), 6);
});

test('a value whose neighbours hold fewer cells is not chosen; the ends of the range have one neighbour', () => {
  assert.is(bestIndex([1, 1, 5, 1, 1], 0), 0);
  assert.is(bestIndex([1, 2, 5, 2, 1], 0), 2);
  assert.is(bestIndex([0, 0, 4, 4], 0), 3);
});

test('most cells of a scan hold at the true value', () => {
  const whole = { ...RAM, values: [1, 2, 3, 4, 5, 6, 7, 8] };
  const counts = scan(device, whole, { ram: 3, disk: 0.5 }).points.map(({ value, judged }) => [value, held(judged)]);
  assert.equal(counts, [
    [1, 3],
    [2, 4],
    [3, 4],
    [4, 5],
    [5, 6],
    [6, 5],
    [7, 5],
    [8, 4],
  ]);
});

test('the search finds the values from which the cells were made', () => {
  assert.is(held(judge(device, priors(device))), 2);
  assert.equal(chooseValues(device), { ram: 5.25, disk: 0.5 });
});

test('cells that an unknown may not see have no part in its choice', () => {
  const blind: Problem = { ...device, unknowns: [{ ...RAM, sees: ({ row }) => row === '1' || row === '2' }, DISK] };
  assert.is(chooseValues(blind).ram, 3);
});

test('a left-out table is judged with values that were chosen without it', () => {
  const found = leaveOneOut(device).map(({ group, values, judged }) => [group, values, held(judged), judged.length]);
  // Table 2 alone is content with the same values; Table 1 alone is content with 4 GiB and says nothing of disks.
  assert.equal(found, [
    ['Table 1', { ram: 5.25, disk: 0.5 }, 3, 3],
    ['Table 2', { ram: 6, disk: 1 }, 1, 3],
  ]);
});

test('a failing cell is listed with the unknown that makes it hold, and the cells that then fail', () => {
  const other: Problem = { ...device, cells: [...device.cells, cell('7', 0.7), cell('3', 99)] };
  const chosen = { ram: 5, disk: 0.5 };
  const found = contradictedCells(
    judge(other, chosen),
    other.unknowns.map((one) => scan(other, one, chosen)),
  ).map(({ judged, mended }) => [
    judged.cell.row,
    mended && [mended.unknown.name, mended.value, mended.lost.map((one) => one.cell.row)],
  ]);
  assert.equal(found, [
    ['7', ['ram', 7, ['6']]],
    ['3', undefined],
  ]);
});

test.run();
