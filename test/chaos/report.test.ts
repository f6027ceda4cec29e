import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Episode } from './episode.ts';
import { table, verdict } from './report.ts';

const EXACT: Episode = {
  fault: 'kill',
  phase: 'decode',
  victim: 'one',
  end: { kind: 'exact' },
  naming: 0.5,
  goingOn: 2,
  freeing: undefined,
  broken: [],
};
const LATE: Episode = {
  ...EXACT,
  end: { kind: 'named', reason: 'one: gone' },
  naming: 6,
  broken: ['named after 6.0 s'],
};
const run = { seed: 1, minutes: 1, skipped: [], missing: '' };
const held = (count: number, mebibytes: (index: number) => number, descriptors: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => ({ bytes: mebibytes(index) * 2 ** 20, descriptors: descriptors(index) }));

test('a row has the counts of outcomes, and medians with the worst value in brackets', () => {
  const [, , kill, all] = table({ episodes: [EXACT, EXACT, LATE] }).split('\n');
  assert.is(kill, '| kill: SIGKILL of a worker | 3 | 2 | 1 | 0 | 1 | 0.5 (6.0) | 2.0 (2.0) |');
  assert.is(all, kill?.replace('kill: SIGKILL of a worker', 'all'));
});

test('broken promises are listed with the request, its fault and its phase', () => {
  const flat = held(
    20,
    () => 100,
    () => 40,
  );
  assert.equal(verdict({ ...run, episodes: [EXACT, LATE], held: flat }), [
    'request 1, kill of one in decode: named after 6.0 s',
  ]);
});

test('a worker whose memory or number of descriptors grows is reported; its growth at first is not', () => {
  const episodes = [EXACT];
  const growing = held(
    30,
    (index) => 100 + 2 * index,
    () => 40,
  );
  assert.equal(verdict({ ...run, episodes, held: growing }), ['the watched worker grew by 40 MiB']);
  const leaking = held(
    30,
    () => 100,
    (index) => 40 + Math.floor(index / 10),
  );
  assert.equal(verdict({ ...run, episodes, held: leaking }), [
    'the watched worker has 2 descriptors more than at first',
  ]);
  const warming = held(
    30,
    (index) => (index < 5 ? 50 : 100),
    (index) => (index < 5 ? 30 : 40),
  );
  assert.equal(verdict({ ...run, episodes, held: warming }), []);
});

test.run();
