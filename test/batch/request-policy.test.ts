import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BatchLimits, nextPass, type RequestState } from '../../engine/batch/request-policy.ts';

const LIMITS: BatchLimits = { pageTokens: 4, passTokens: 16, promptTokensBesideDecoding: 6 };

const request = (id: number, more: Partial<RequestState>): RequestState => {
  const state = { id, promptTokens: 10, tokens: 10, evaluated: 0, shared: 0, idlePages: 0, isRunning: false, ...more };
  return { ownPages: state.isRunning ? Math.ceil(state.evaluated / LIMITS.pageTokens) : 0, ...state };
};
const decoding = (id: number, evaluated: number): RequestState =>
  request(id, { evaluated, promptTokens: 5, tokens: evaluated + 1, isRunning: true });
const works = (requests: readonly RequestState[], free: number): string[] =>
  nextPass(requests, free, LIMITS).work.map(
    ({ id, count, isGenerated, isLast }) => `${id}: ${count}${isGenerated ? ' generated' : ''}${isLast ? ' last' : ''}`,
  );

test('waiting requests begin in the order of arrival, with as many tokens as a pass has', () => {
  const requests = [request(2, {}), request(1, {}), request(3, {})];
  assert.equal(works(requests, 100), ['1: 10 last', '2: 6']);
  assert.equal(nextPass(requests, 100, LIMITS).admitted, [1, 2]);
});

test('where states are kept, no more requests run at the same time than there is memory for', () => {
  const requests = [decoding(1, 6), request(2, {}), request(3, {})];
  assert.equal(nextPass(requests, 100, { ...LIMITS, running: 2 }).admitted, [2]);
  assert.equal(nextPass(requests.slice(1), 100, { ...LIMITS, running: 1 }).admitted, [2]);
});

test('generated tokens come first, and next to them prompts have few tokens', () => {
  assert.equal(works([request(1, { isRunning: true, evaluated: 2 }), decoding(2, 9), decoding(3, 6)], 100), [
    '2: 1 generated last',
    '3: 1 generated last',
    '1: 6',
  ]);
});

test('a request is admitted when all its tokens and the next one fit in addition to those of the running ones', () => {
  // The running one has 3 pages, with the next token, of which it has none yet; the other needs 3 as well.
  const requests = [request(1, { isRunning: true, tokens: 11 }), request(2, {})];
  assert.equal(nextPass(requests, 5, LIMITS).admitted, []);
  assert.equal(nextPass(requests, 6, LIMITS).admitted, [2]);
});

test('what a request shares with others is not evaluated again, and takes a page only if nobody uses it', () => {
  const running = decoding(1, 9);
  const shared = { shared: 8, idlePages: 0 };
  assert.equal(works([running, request(2, shared)], 2), ['1: 1 generated last', '2: 2 last']);
  assert.equal(works([running, request(2, { ...shared, idlePages: 2 })], 2), ['1: 1 generated last']);
});

test('if pages run out the youngest gives its own back; one that is the youngest itself waits', () => {
  const three = [decoding(1, 8), decoding(2, 8), decoding(3, 8)];
  const pass = nextPass(three, 1, LIMITS);
  assert.equal(pass.preempted, [3]);
  assert.equal(
    pass.work.map(({ id }) => id),
    [1, 2],
  );
  assert.equal(works([decoding(1, 9), decoding(2, 8)], 0), ['1: 1 generated last']);
});

test('pages that others use as well are not free when a request gives them back', () => {
  const shared = { ...decoding(2, 8), ownPages: 0 };
  const pass = nextPass([decoding(1, 8), shared], 0, LIMITS);
  assert.equal(pass, { preempted: [2], admitted: [], work: [] });
});

test('a preempted request evaluates its prompt and then what it had generated, never both in one pass', () => {
  const again = { promptTokens: 10, tokens: 14, isRunning: true };
  assert.equal(works([request(1, again)], 9), ['1: 10']);
  assert.equal(works([request(1, { ...again, evaluated: 10 })], 9), ['1: 4 generated last']);
});

interface Simulated extends RequestState {
  readonly arrival: number;
  readonly wanted: number;
}

/** Carries out passes until all requests have their tokens. Returns, by request, the pass in which each token came. */
function carryOut(requests: readonly { arrival: number; prompt: number; wanted: number }[], pages: number): number[][] {
  const states = requests.map(({ arrival, prompt, wanted }, id): Simulated => {
    return { ...request(id, { promptTokens: prompt, tokens: prompt }), arrival, wanted };
  });
  const done = requests.map((): number[] => []);
  const held = (state: RequestState): number => Math.ceil(state.evaluated / LIMITS.pageTokens);
  for (let pass = 0; done.some((tokens, id) => tokens.length < (requests[id]?.wanted as number)); pass++) {
    assert.ok(pass < 3000, 'some requests never end');
    const open = states.filter(({ arrival, wanted, id }) => arrival <= pass && (done[id]?.length as number) < wanted);
    const used = open.reduce((sum, state) => sum + held(state), 0);
    const { preempted, admitted, work } = nextPass(open, pages - used, LIMITS);
    const set = (id: number, more: Partial<RequestState>): void => {
      states[id] = { ...(states[id] as Simulated), ...more };
    };
    for (const id of preempted) set(id, { isRunning: false, evaluated: 0, ownPages: 0 });
    for (const id of admitted) set(id, { isRunning: true });
    assert.ok(open.length === 0 || work.length > 0, `pass ${pass} does nothing`);
    assert.ok(work.reduce((sum, { count }) => sum + count, 0) <= LIMITS.passTokens);
    for (const { id, count, isGenerated, isLast } of work) {
      const { evaluated, tokens, promptTokens, isRunning } = states[id] as Simulated;
      assert.ok(isRunning && count > 0);
      assert.ok(isGenerated ? evaluated >= promptTokens : evaluated + count <= promptTokens);
      assert.is(isLast, evaluated + count === tokens);
      set(id, { evaluated: evaluated + count, tokens: tokens + (isLast ? 1 : 0) });
      set(id, { ownPages: held(states[id] as Simulated) });
      if (isLast) done[id]?.push(pass);
    }
    const all = states.filter(({ id, wanted }) => (done[id]?.length as number) < wanted);
    assert.ok(all.reduce((sum, state) => sum + held(state), 0) <= pages, `pass ${pass} has too many pages`);
  }
  return done;
}

test('whatever arrives when, every request that fits alone ends, within the pages there are, and the oldest never waits', () => {
  const arriving = fc.record({
    arrival: fc.integer({ min: 0, max: 12 }),
    prompt: fc.integer({ min: 1, max: 30 }),
    wanted: fc.integer({ min: 1, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(arriving, { minLength: 1, maxLength: 8 }), fc.integer({ min: 0, max: 20 }), (list, more) => {
      const requests = list.toSorted((a, b) => a.arrival - b.arrival);
      const least = Math.max(...requests.map(({ prompt, wanted }) => Math.ceil((prompt + wanted - 1) / 4)));
      const done = carryOut(requests, least + more);
      const [oldest] = done as [number[]];
      const [first] = oldest as [number];
      assert.equal(
        oldest,
        oldest.map((_, token) => first + token),
      );
    }),
    { seed: 5, numRuns: 150 },
  );
});

test.run();
