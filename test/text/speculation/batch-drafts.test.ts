import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { createBatchDrafts } from '../../../engine/text/speculation/batch-drafts.ts';

interface Case {
  readonly texts: number;
  /** Probability that a drafted token is right. */
  readonly rate: number;
  /** Share of a pass of one token that each further token takes. */
  readonly share: number;
  /** Seconds of a search. */
  readonly search?: number;
}

/** Seconds that 400 tokens of each text take, over those that they take without drafts. */
function slowdown({ texts, rate, share, search = 0 }: Case): number {
  const drafts = createBatchDrafts();
  const stream = randomStream(1, 'accepted');
  const secondsOf = (tokens: number): number => 1 + (tokens - 1) * share;
  const written = new Array<number>(texts).fill(0);
  let seconds = 0;
  let plain = 0;
  while (written.some((tokens) => tokens < 400)) {
    const searchSeconds = drafts.maySearch(texts) ? search : 0;
    const offers = written.map(() => ({ tokens: new Array<number>(16).fill(0), matched: 2 }));
    const most = drafts.maySearch(texts) ? drafts.most(texts, offers) : 0;
    const found =
      most === 0
        ? []
        : offers.map(() => {
            let accepted = 0;
            while (accepted < most && stream.next() < rate) accepted++;
            return { matched: 2, drafted: most, accepted };
          });
    const pass = secondsOf(texts * (1 + most));
    drafts.passed({ texts, drafts: found, searchSeconds, seconds: pass });
    seconds += pass + searchSeconds;
    for (const index of written.keys()) written[index] = (written[index] as number) + 1 + (found[index]?.accepted ?? 0);
    plain = (written.reduce((sum, tokens) => sum + tokens, 0) / texts) * secondsOf(texts);
  }
  return seconds / plain;
}

test('drafts that are right make texts faster', () => {
  assert.ok(slowdown({ texts: 1, rate: 0.9, share: 0.1 }) < 0.4);
  assert.ok(slowdown({ texts: 4, rate: 0.9, share: 0.1 }) < 0.75);
});

test('whatever is accepted, no more than 3 % is lost', () => {
  for (const texts of [1, 2, 8])
    for (const rate of [0, 0.1, 0.3, 0.5, 0.8])
      for (const [share, search] of [
        [0.02, 0],
        [0.3, 0.1],
        [0.7, 0.5],
        [1, 0],
      ] as const) {
        const found = slowdown({ texts, rate, share, search });
        assert.ok(found <= 1.03, `${texts} texts, rate ${rate}, share ${share}: ${found}`);
      }
});

test('a number of tokens that is given is drafted wherever there is an offer', () => {
  const drafts = createBatchDrafts(5);
  assert.is(drafts.most(3, [{ tokens: [1, 2], matched: 3 }]), 5);
  assert.is(drafts.most(3, []), 0);
});

test.run();
