import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { nextStops, type Stop, tokenPath } from '../../../simulator/systems/token-path.ts';

/** `a 0–2`, `a –` for a head that passes the token on, `a output`. */
function text({ device, stages, output }: Stop): string {
  const [first, last] = [stages[0], stages.at(-1)];
  if (output) return `${device} output`;
  return first === undefined || last === undefined ? `${device} –` : `${device} ${first.from}–${last.to}`;
}

function ring(head: string, rounds: number, layers: Readonly<Record<string, number>>): Stop[] {
  const windows = Object.entries(layers).map(([device, count]) => ({ device, layers: count, gpuLayers: 0 }));
  return tokenPath(ringPlan({ scheduler: 'hand', head, rounds, windows }));
}

test('a token goes around the ring and ends at the head', () => {
  assert.equal(ring('a', 2, { a: 2, b: 1 }).map(text), ['a 0–2', 'b 2–3', 'a 3–5', 'b 5–6', 'a output']);
});

test('a head without layers begins every round', () => {
  assert.equal(ring('h', 2, { a: 1, b: 1 }).map(text), ['h –', 'a 0–1', 'b 1–2', 'h –', 'a 2–3', 'b 3–4', 'h output']);
});

test('a head whose layers are not the first forwards the token', () => {
  assert.equal(ring('b', 1, { a: 1, b: 1 }).map(text), ['b –', 'a 0–1', 'b 1–2', 'b output']);
});

test('consecutive CPU and GPU layers of a device are one window', () => {
  const windows = [
    { device: 'a', layers: 3, gpuLayers: 2 },
    { device: 'b', layers: 1, gpuLayers: 0 },
  ];
  const [first] = tokenPath(ringPlan({ scheduler: 'hand', head: 'a', rounds: 1, windows }));
  assert.equal(
    first?.stages.map(({ processor, from, to }) => [processor, from, to]),
    [
      ['cpu', 0, 1],
      ['gpu', 1, 3],
    ],
  );
});

test('a device prefetches its next window, and the head its output layer before the next token’s window', () => {
  const path = ring('a', 2, { a: 1, b: 1 });
  assert.equal(
    nextStops(path).map((next) => next.map(text)),
    [['a 2–3'], ['b 3–4'], ['a output', 'a 0–1'], ['b 1–2'], []],
  );
});

test('a device with one window prefetches it for the next token', () => {
  const path = ring('a', 1, { a: 1, b: 2 });
  assert.equal(
    nextStops(path).map((next) => next.map(text)),
    [['a output', 'a 0–1'], ['b 1–3'], []],
  );
});

test.run();
