import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCountedPages } from '../../engine/batch/counted-pages.ts';
import { createRequestQueue, type QueuedRequest } from '../../engine/batch/request-queue.ts';
import { parseRequests, poissonRequests, promptOf } from '../../engine/batch/request-stream.ts';

const LIMITS = { pageTokens: 4, passTokens: 16, promptTokensBesideDecoding: 8 };
type Request = QueuedRequest & { readonly history: number[] };

function queueOf(pages: number) {
  const memory = createCountedPages({ ...LIMITS, pages });
  const queue = createRequestQueue<Request, ReturnType<typeof memory.open>, Parameters<typeof memory.open>[0][number]>(
    memory,
    LIMITS,
  );
  const pass = () => {
    const work = queue.next();
    for (const { text, count } of work) text.advance(count);
    for (const own of work) {
      queue.evaluated(own);
      if (own.isLast) own.request.history.push(0);
    }
    return work.map(({ id, count, from }) => [id, count, from]);
  };
  return { memory, queue, pass };
}
const request = (id: number, prompt: readonly number[]): Request => ({
  id,
  promptTokens: prompt.length,
  history: [...prompt],
});
const tokens = (count: number, seed = 0): number[] => Array.from({ length: count }, (_, at) => 100 * seed + at);

test('a prompt goes first, then its token decodes with the next prompt, which is cut to its share', () => {
  const { queue, pass } = queueOf(20);
  queue.add(request(1, tokens(10, 1)));
  assert.equal(pass(), [[1, 10, 0]]);
  queue.add(request(2, tokens(12, 2)));
  assert.equal(pass(), [
    [1, 1, 10],
    [2, 8, 0],
  ]);
  assert.equal(pass(), [
    [1, 1, 11],
    [2, 4, 8],
  ]);
});

test('a prompt that begins as another did uses its full pages, which stay until their memory is needed', () => {
  const { memory, queue, pass } = queueOf(4);
  queue.add(request(1, tokens(9)));
  pass();
  queue.remove(1);
  // Three pages are kept, which nobody uses.
  assert.is(memory.freePages, 1);
  assert.is(queue.freePages, 4);
  queue.add(request(2, [...tokens(8), 500]));
  assert.equal(pass(), [[2, 1, 8]]);
  assert.is(queue.cachedTokens(2), 8);
  queue.remove(2);
  queue.add(request(3, tokens(15, 7)));
  assert.equal(pass(), [[3, 15, 0]]);
  assert.is(queue.cachedTokens(3), 0);
  queue.remove(3);
  queue.close();
  assert.is(memory.freePages, 4);
});

test('of a page that begins alike, the first tokens are copied, also of the last page of a prompt', () => {
  const { memory, queue, pass } = queueOf(6);
  queue.add(request(1, tokens(10)));
  pass();
  // Its third page goes on with a generated token.
  pass();
  queue.add(request(2, [...tokens(7), 500, 501]));
  assert.equal(pass(), [
    [1, 1, 11],
    [2, 2, 7],
  ]);
  assert.is(queue.cachedTokens(2), 7);
  queue.remove(1);
  queue.remove(2);
  queue.add(request(3, [...tokens(10), 0, 501]));
  assert.equal(pass(), [[3, 2, 10]]);
  assert.is(queue.cachedTokens(3), 10);
  queue.remove(3);
  queue.close();
  assert.is(memory.freePages, 6);
});

test('where no other page is left, a text takes the page instead of a copy', () => {
  const { memory, queue, pass } = queueOf(1);
  queue.add(request(1, tokens(4)));
  pass();
  queue.remove(1);
  assert.is(memory.freePages, 0);
  queue.add(request(2, [0, 1, 9]));
  assert.equal(pass(), [[2, 1, 2]]);
  assert.is(queue.cachedTokens(2), 2);
  queue.remove(2);
  queue.close();
  assert.is(memory.freePages, 1);
});

test('in any memory that holds each, requests are served, and find their own tokens in their pages', () => {
  const drawn = fc.array(
    fc.record({ prompt: fc.array(fc.nat(1), { minLength: 1, maxLength: 14 }), output: fc.integer({ min: 1, max: 6 }) }),
    { minLength: 1, maxLength: 12 },
  );
  let cached = 0;
  fc.assert(
    fc.property(drawn, fc.integer({ min: 5, max: 12 }), fc.nat(3), (asked, pages, apart) => {
      const { memory, queue } = queueOf(pages);
      /** The tokens in each page, by its number. */
      const written = new Map<number, number[]>();
      const { open } = memory;
      memory.open = (beginning) => {
        const text = open(beginning);
        const { rewind } = text;
        text.rewind = (position) => {
          const before = text.numbers;
          rewind(position);
          for (const [index, number] of text.numbers.entries())
            if (number !== before[index]) written.set(number, [...(written.get(before[index] as number) ?? [])]);
        };
        return text;
      };
      let next = 0;
      for (let step = 0; next < asked.length || queue.requests.length > 0; step++) {
        assert.ok(step < 1000, 'no end');
        const one = asked[next];
        if (one !== undefined && step % (apart + 1) === 0) queue.add(request(next++, one.prompt));
        const work = queue.next();
        for (const { text, count, from, request: own } of work) {
          text.advance(count);
          for (let at = from; at < from + count; at++) {
            const number = text.numbers[Math.floor(at / 4)] as number;
            if (at % 4 === 0) written.set(number, []);
            (written.get(number) as number[])[at % 4] = own.history[at] as number;
          }
        }
        for (const own of work) {
          const { history, id } = own.request;
          const found = own.text.numbers.flatMap((number) => written.get(number));
          assert.equal(found.slice(0, own.text.position), history.slice(0, own.text.position));
          queue.evaluated(own);
          if (!own.isLast) continue;
          history.push(2);
          const { prompt, output } = asked[id] as (typeof asked)[number];
          if (history.length < prompt.length + output) continue;
          cached += queue.cachedTokens(id);
          queue.remove(id);
        }
      }
      queue.close();
      assert.is(memory.freePages, pages);
    }),
  );
  assert.ok(cached > 100);
});

test('without pages for all, the youngest gives its own back and begins anew', () => {
  const { queue, pass } = queueOf(3);
  queue.add(request(1, tokens(4, 1)));
  queue.add(request(2, tokens(3, 2)));
  assert.equal(pass(), [
    [1, 4, 0],
    [2, 3, 0],
  ]);
  assert.equal(pass(), [
    [1, 1, 4],
    [2, 1, 3],
  ]);
  assert.is(queue.running, 2);
  for (let step = 0; step < 4; step++) pass();
  assert.is(queue.running, 1, 'the second request waits');
});

test('counted pages are never more than there are', () => {
  const text = createCountedPages({ pages: 1, pageTokens: 4 }).open([]);
  text.advance(4);
  assert.throws(() => text.advance(1), /all 1 pages are in use/);
});

test('Poisson arrivals have the rate asked for, and the same lengths at every rate', () => {
  const asked = { seed: 3, requests: 4000, promptTokens: [16, 64], outputTokens: [1, 8] } as const;
  const [slow, fast] = [poissonRequests({ ...asked, rate: 2 }), poissonRequests({ ...asked, rate: 20 })];
  assert.ok(Math.abs(4000 / (slow.at(-1)?.arrival ?? 0) / 2 - 1) < 0.05);
  assert.equal(
    slow.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens]),
    fast.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens]),
  );
  assert.ok(slow.every(({ promptTokens }) => promptTokens >= 16 && promptTokens <= 64));
});

test('requests are read from CSV, with common beginnings', () => {
  const [first, second] = parseRequests(
    'arrival,prompt,output,prefix,prefixTokens\n0,8,2,chat,4\n0.5,6,1,chat,4\n',
    'r',
  );
  assert.equal(first, { arrival: 0, promptTokens: 8, outputTokens: 2, prefix: { name: 'chat', tokens: 4 } });
  if (first === undefined || second === undefined) return assert.unreachable();
  const [one, other] = [promptOf(first, 0, 1000), promptOf(second, 1, 1000)];
  assert.equal(one.slice(0, 4), other.slice(0, 4));
  assert.not.equal(one.slice(4, 6), other.slice(4, 6));
  assert.equal(parseRequests('arrival,prompt,output\n1,2,3\n', 'r'), [
    { arrival: 1, promptTokens: 2, outputTokens: 3 },
  ]);
});

test('what is wrong in a file of requests is named with its place', () => {
  const read = (rows: string) => () => parseRequests(`arrival,prompt,output\n${rows}`, 'r.csv');
  assert.throws(read('1,2,3\n0,2,3\n'), /r.csv: row 3, column arrival: "0" is not a time/);
  assert.throws(read('1,0,3\n'), /r.csv: row 2, column prompt: "0" is not a whole number/);
  assert.throws(read(''), /r.csv: has no requests/);
  assert.throws(
    () => parseRequests('arrival,prompt,output,prefix,prefixTokens\n0,3,1,a,4\n', 'r.csv'),
    /prefixTokens: 4 is more than the prompt, 3/,
  );
});

test('a counted page that is kept or shared is copied where its text goes on in the middle of it', () => {
  const memory = createCountedPages({ pages: 3, pageTokens: 4 });
  const text = memory.open([]);
  text.advance(6);
  text.keep(1);
  text.rewind(5);
  assert.equal([text.numbers, text.position, memory.freePages], [[0, 2], 5, 0]);
  text.keep(0);
  assert.throws(() => text.rewind(2), 'all 3 pages are in use');
  assert.is(text.position, 5);
});

test('counted pages have numbers, which return when nobody uses or keeps the page', () => {
  const memory = createCountedPages({ pages: 4, pageTokens: 4 });
  const text = memory.open([]);
  text.advance(9);
  assert.equal([text.numbers, memory.freePages], [[0, 1, 2], 1]);
  const page = text.keep(0);
  text.rewind(8);
  assert.equal([text.numbers, text.position, memory.freePages], [[0, 1], 8, 2]);
  assert.throws(() => text.rewind(9), 'rewind to 9 of 8 tokens');
  const other = memory.open(page === undefined ? [] : [page]);
  other.advance(5);
  assert.equal([other.numbers, other.sharedPages, memory.freePages], [[0, 2, 3], 1, 0]);
  text.close();
  other.close();
  assert.equal([memory.freePages, page?.isIdle], [3, true]);
  page?.release();
  assert.is(memory.freePages, 4);
});

test.run();
