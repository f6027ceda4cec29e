import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { createBatchDrafts, type TextOffers } from '../../../engine/text/speculation/batch-drafts.ts';

interface Case {
  readonly texts: number;
  /** Probability that a drafted token is right. */
  readonly rate: number;
  /** Share of a pass of one token that each further token takes. */
  readonly share: number;
  /** Passes of one token that it takes to look for drafts. */
  readonly search?: number;
  /** The same for a token of a small model, which drafts instead of a lookup. */
  readonly modelShare?: number;
}

const FOUND: TextOffers = { lookup: { source: 'lookup 2', most: 16 }, model: undefined };
const small = (tokenSeconds: number): TextOffers => ({
  lookup: undefined,
  model: { source: 'draft', most: 16, startSeconds: 0, tokenSeconds },
});

/** Seconds that 400 tokens of each text take, over those that they take without drafts. */
function slowdown({ texts, rate, share, search = 0, modelShare }: Case): number {
  const drafts = createBatchDrafts();
  const stream = randomStream(1, 'accepted');
  const secondsOf = (tokens: number): number => 1 + (tokens - 1) * share;
  const offers = new Array(texts).fill(modelShare === undefined ? FOUND : small(modelShare));
  const written = new Array<number>(texts).fill(0);
  let seconds = 0;
  while (written.some((tokens) => tokens < 400)) {
    const passSecondsOf = (drafted: number): number => secondsOf(texts + drafted);
    if (!drafts.mayDraft(texts)) {
      drafts.plain(texts, passSecondsOf(0));
      seconds += passSecondsOf(0);
      for (const index of written.keys()) written[index] = (written[index] as number) + 1;
      continue;
    }
    const choices = drafts.choose(offers);
    const done = choices.flatMap((choice) => {
      if (choice === undefined) return [];
      let accepted = 0;
      while (accepted < choice.tokens && stream.next() < rate) accepted++;
      return [{ source: choice.source, asked: choice.tokens, drafted: choice.tokens, accepted }];
    });
    const drafted = done.map((one) => one.drafted);
    const passSeconds = passSecondsOf(drafted.reduce((sum, tokens) => sum + tokens, 0));
    const all = search + (modelShare ?? 0) * Math.max(0, ...drafted) + passSeconds;
    drafts.passed({ texts, drafts: done, passSeconds, seconds: all });
    seconds += all;
    for (const index of written.keys()) written[index] = (written[index] as number) + 1 + (done[index]?.accepted ?? 0);
  }
  const plain = (written.reduce((sum, tokens) => sum + tokens, 0) / texts) * secondsOf(texts);
  return seconds / plain;
}

test('drafts that are right make texts faster', () => {
  assert.ok(slowdown({ texts: 1, rate: 0.9, share: 0.1 }) < 0.4);
  assert.ok(slowdown({ texts: 4, rate: 0.9, share: 0.1 }) < 0.75);
  assert.ok(slowdown({ texts: 1, rate: 0.9, share: 0.1, modelShare: 0.1 }) < 0.6);
  assert.ok(slowdown({ texts: 8, rate: 0.9, share: 0.05, modelShare: 0.1 }) < 0.75);
});

test('whatever is accepted, no more than 3 % is lost', () => {
  for (const texts of [1, 2, 8])
    for (const rate of [0, 0.1, 0.3, 0.5, 0.8])
      for (const modelShare of [undefined, 0.1, 0.5])
        for (const [share, search] of [
          [0.02, 0],
          [0.3, 0.1],
          [0.7, 0.5],
          [1, 0],
        ] as const) {
          const found = slowdown({ texts, rate, share, search, ...(modelShare === undefined ? {} : { modelShare }) });
          assert.ok(found <= 1.03, `${texts} texts, rate ${rate}, share ${share}, ${modelShare}: ${found}`);
        }
});

test('the first attempt is of four tokens in a model whose passes are short, and waits in others until it can be afforded', () => {
  const attempt = (passSeconds: number) => {
    const drafts = createBatchDrafts();
    for (let passes = 1; passes <= 200; passes++) {
      drafts.plain(1, passSeconds);
      const [choice] = drafts.choose([small(0.05 * passSeconds)]);
      if (choice !== undefined) return { passes, tokens: choice.tokens };
    }
    return undefined;
  };
  assert.equal(attempt(0.3e-3), { passes: 8, tokens: 4 });
  // Of one token: 0.05 s to draft it and 0.7 to verify it, as is assumed; 2 % of each pass may be lost.
  assert.equal(attempt(1), { passes: 37, tokens: 1 });
});

test('of a lookup and a small model the one that gives more is taken, text by text', () => {
  const drafts = createBatchDrafts();
  for (let pass = 0; pass < 100; pass++) drafts.plain(2, 1);
  for (let pass = 0; pass < 20; pass++) {
    const [lookup, model] = [
      { source: 'lookup 4', asked: 4, drafted: 4, accepted: 4 },
      { source: 'draft', asked: 8, drafted: 8, accepted: 6 },
    ];
    drafts.passed({ texts: 2, drafts: [lookup, model], passSeconds: 1.1, seconds: 1.15 });
  }
  const model = { source: 'draft', most: 8, startSeconds: 0, tokenSeconds: 0.01 };
  const [first, second] = drafts.choose([
    { lookup: { source: 'lookup 4', most: 8 }, model },
    { lookup: undefined, model },
  ]);
  assert.equal([first?.from, second?.from], ['lookup', 'model']);
});

test('a number of tokens that is given is drafted wherever there is an offer', () => {
  const drafts = createBatchDrafts(5);
  assert.ok(drafts.mayDraft(3));
  const [found, nothing, short] = drafts.choose([
    FOUND,
    { lookup: undefined, model: undefined },
    { lookup: { source: 'lookup 3', most: 2 }, model: undefined },
  ]);
  assert.equal([found?.tokens, nothing, short?.tokens], [5, undefined, 2]);
  assert.equal(drafts.choose([{ lookup: undefined, model: undefined }]), []);
});

test.run();
