import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RingCosts } from '../../../engine/cost/ring-costs.ts';
import { bestWindows } from '../../../engine/schedule/exact/best-windows.ts';
import { relaxWindows } from '../../../engine/schedule/exact/relaxed-windows.ts';
import { ofEveryWindow, secondsAt, type WindowSeconds } from '../../../engine/schedule/exact/window-seconds.ts';
import { relativelyNear } from '../../support/near.ts';
import { toyRing } from '../../support/toy-ring.ts';

const NEVER = Number.POSITIVE_INFINITY;

const tablesOf = (rows: readonly (readonly number[])[]): WindowSeconds[] =>
  ofEveryWindow(rows.map((row) => Float64Array.from(row)));

test('two devices share the layers if that pays for two hops', () => {
  const tables = tablesOf([
    [0, 1, 2, 9, 16],
    [0, 2, 4, 6, 8],
  ]);
  const best = (hop: number) => bestWindows(toyRing(4, hop, []), tables, 1);
  // Two layers each: 2 + 4 s and two hops.
  assert.equal(best(0.5)?.seconds, 7);
  assert.equal(best(0.5)?.windows, [
    { device: 0, layers: 2 },
    { device: 1, layers: 2 },
  ]);
  // With hops of 4 s the same, 14 s; the head alone takes 16 s, and so does the second device, hops included.
  assert.equal(best(4)?.windows, [
    { device: 0, layers: 2 },
    { device: 1, layers: 2 },
  ]);
  assert.equal(best(6)?.windows, [{ device: 0, layers: 4 }]);
});

test('a device with all layers is visited once, whatever the rounds', () => {
  const tables = tablesOf([
    [0, NEVER, NEVER],
    [0, 5, 6],
  ]);
  assert.equal(bestWindows(toyRing(8, 1, []), tables, 4), {
    seconds: 8,
    windows: [
      { device: 0, layers: 0 },
      { device: 1, layers: 2 },
    ],
  });
});

test('without room for all layers there are no best windows', () => {
  const tables = tablesOf([
    [0, 1, NEVER, NEVER],
    [0, 1, NEVER, NEVER],
  ]);
  assert.is(bestWindows(toyRing(3, 1, []), tables, 1), undefined);
  assert.is(bestWindows(toyRing(3, 1, []), tablesOf([[NEVER, NEVER, NEVER, NEVER]]), 1), undefined);
});

test('layers and hops that cost nothing are shared out as well', () => {
  const tables = tablesOf([
    [0, 0, NEVER],
    [0, 0, NEVER],
  ]);
  assert.equal(bestWindows(toyRing(2, 0, []), tables, 1)?.seconds, 0);
});

/** A ring of up to five devices, some of them equal: seconds by window, hops of one length or of each pair's own. */
const rings = fc
  .record({
    devices: fc.integer({ min: 1, max: 5 }),
    layers: fc.integer({ min: 1, max: 7 }),
    rounds: fc.constantFrom(1, 3),
  })
  .chain(({ devices, layers, rounds }) => {
    const entry = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }) },
      { weight: 1, arbitrary: fc.constant(NEVER) },
    );
    // Rows of any shape, rows that grow steadily, and rows that end where memory does.
    const steady = fc
      .record({ each: fc.integer({ min: 0, max: 9 }), room: fc.nat(layers), more: fc.integer({ min: 0, max: 30 }) })
      .map(({ each, room, more }) =>
        Array.from({ length: layers + 1 }, (_, window) => each * window + more * Math.max(0, window - room)),
      );
    const ending = fc
      .record({ each: fc.integer({ min: 0, max: 9 }), room: fc.nat(3), first: fc.integer({ min: 0, max: 30 }) })
      .map(({ each, room, first }) =>
        Array.from({ length: layers + 1 }, (_, window) => (window > room ? NEVER : first + each * window)),
      );
    const row = fc.oneof(steady, ending, fc.array(entry, { minLength: layers + 1, maxLength: layers + 1 }));
    const rows = fc.array(row, { minLength: devices, maxLength: devices });
    return fc.record({
      layers: fc.constant(layers),
      rounds: fc.constant(rounds),
      rows: fc.oneof(
        rows,
        rows.map(([first]) => Array.from({ length: devices }, () => first as number[])),
      ),
      hops: fc.oneof(fc.nat(20), fc.array(fc.nat(20), { minLength: devices * devices, maxLength: devices * devices })),
    });
  })
  .map(({ layers, rounds, rows, hops }) => {
    const costs: RingCosts = {
      ...toyRing(layers * rounds, 0, []),
      uniformHop: typeof hops === 'number' ? hops : undefined,
      hop: (from, to) =>
        from === to ? 0 : typeof hops === 'number' ? hops : (hops[from * rows.length + to] as number),
    };
    // An empty window costs devices other than the head nothing.
    const tables = tablesOf(rows.map((row, device) => (device === 0 ? row : [0, ...row.slice(1)])));
    return { costs, tables, rounds };
  });

/** All ways to share out the layers among devices from `device` on. */
function* shares(devices: number, layers: number): Generator<number[]> {
  if (devices === 1) yield [layers];
  else
    for (let own = 0; own <= layers; own++) for (const rest of shares(devices - 1, layers - own)) yield [own, ...rest];
}

function secondsOf(
  costs: RingCosts,
  tables: readonly WindowSeconds[],
  rounds: number,
  windows: readonly number[],
): number {
  const visited = windows.flatMap((layers, device) => (device > 0 && layers > 0 ? [device] : []));
  const holders = windows.filter((layers) => layers > 0).length;
  const stops = [0, ...visited, 0];
  const around = stops.slice(1).reduce((sum, stop, index) => sum + costs.hop(stops[index] as number, stop), 0);
  const computing = windows.reduce(
    (sum, layers, device) => sum + secondsAt(tables[device] as WindowSeconds, layers),
    0,
  );
  return computing + (visited.length === 0 ? 0 : around * (holders === 1 ? 1 : rounds));
}

test('the best windows are those of brute force, for tables of any shape', () => {
  let found = 0;
  const property = fc.property(rings, ({ costs, tables, rounds }) => {
    const layers = costs.layers / rounds;
    let least = NEVER;
    for (const windows of shares(tables.length, layers))
      least = Math.min(least, secondsOf(costs, tables, rounds, windows));
    const best = bestWindows(costs, tables, rounds);
    if (best === undefined) return assert.is(least, NEVER);
    found++;
    relativelyNear(best.seconds, least);
    const windows = tables.map((_, device) => best.windows.find((own) => own.device === device)?.layers ?? 0);
    assert.is(
      windows.reduce((sum, own) => sum + own, 0),
      layers,
    );
    relativelyNear(secondsOf(costs, tables, rounds, windows), least);
  });
  fc.assert(property, { numRuns: 6000, seed: 35 });
  assert.ok(found > 4000, `${found} rings have windows`);
});

test('the relaxation is a lower bound, and what it finds on the way an upper one', () => {
  let tight = 0;
  const property = fc.property(rings, ({ costs, tables, rounds }) => {
    if (costs.uniformHop === undefined) return;
    const layers = costs.layers / rounds;
    const hop = rounds * costs.uniformHop;
    let least = NEVER;
    for (const windows of shares(tables.length, layers)) {
      const hops = windows.filter((own, device) => device > 0 && own > 0).length;
      const seconds = windows.reduce(
        (sum, own, device) => sum + secondsAt(tables[device] as WindowSeconds, own),
        hops * hop,
      );
      least = Math.min(least, seconds);
    }
    const relaxed = relaxWindows({ tables, hop, layers });
    if (relaxed === undefined) return assert.is(least, NEVER);
    assert.ok(
      relaxed.least <= least + 1e-9 && least <= relaxed.found + 1e-9,
      `${relaxed.least} ≤ ${least} ≤ ${relaxed.found}`,
    );
    if (relaxed.found - relaxed.least < 1e-9) tight++;
  });
  fc.assert(property, { numRuns: 4000, seed: 36 });
  assert.ok(tight > 400, `the bounds meet ${tight} times`);
});

test.run();
