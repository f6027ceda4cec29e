import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expectedTokens, speculativeSeconds } from '../../../engine/cost/speculation.ts';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { createDraftLength, type DraftLength, type Offer } from '../../../engine/text/speculation/draft-length.ts';

/** A machine and a text, in virtual time: passes of one token take 1 s. */
interface Setting {
  /** Lengths as earlier texts taught them; new ones unless given. */
  readonly length?: DraftLength;
  /** Seconds of a pass of so many tokens. */
  readonly pass: (tokens: number) => number;
  readonly draftSeconds: number;
  /** α at a token of the text. */
  readonly acceptance: (position: number) => number;
  /** σ: probability that the draft is sure of a token; 1 unless given. */
  readonly sure?: number;
  readonly tokens: number;
  readonly promptSeconds?: number;
  /** Seconds of looking at what could be drafted. */
  readonly lookSeconds?: number;
  /** Share by which times vary, at random. */
  readonly noise?: number;
}

/** Writes a text. @returns its seconds over those of single tokens */
function slowdown(setting: Setting): number {
  const { pass, draftSeconds, acceptance, tokens, sure = 1, promptSeconds = 0, lookSeconds = 0, noise = 0 } = setting;
  const { length = createDraftLength({ tokens: 1, seconds: promptSeconds }) } = setting;
  const [random, noises] = [randomStream(5, 'texts'), randomStream(5, 'noise')];
  length.begin({ tokens: 1, seconds: promptSeconds });
  const varied = (seconds: number): number => seconds * (1 + noise * (noises.next() - 0.5));
  const offer: Offer = { source: 'draft', most: 8, startSeconds: 0, tokenSeconds: draftSeconds };
  let [written, seconds] = [0, promptSeconds];
  while (written < tokens) {
    length.expect(tokens - written - 1);
    const looks = length.mayDraft;
    const choice = looks ? length.choose([{ ...offer, most: Math.min(8, tokens - written) }]) : undefined;
    const asked = choice?.tokens ?? 0;
    let drafted = 0;
    while (drafted < asked && (sure === 1 || random.next() < sure)) drafted++;
    const look = looks ? varied(lookSeconds) : 0;
    const [draft, verification] = [varied(Math.min(asked, drafted + 1) * draftSeconds), varied(pass(drafted + 1))];
    let accepted = 0;
    while (accepted < drafted && random.next() < acceptance(written + accepted)) accepted++;
    seconds += look + draft + verification;
    written += accepted + 1;
    const times = { lookSeconds: look, passSeconds: verification };
    if (asked === 0) length.plain(times);
    else {
      const draftTimes = { draftSeconds: draft, expectedDraftSeconds: asked * draftSeconds };
      length.verified({ source: 'draft', asked, drafted, accepted, ...draftTimes, ...times });
    }
  }
  return seconds / (promptSeconds + written);
}

const inRam = (tokens: number): number => 1 + 0.25 * (tokens - 1);
const streamed = (tokens: number): number => 1 + 0.02 * (tokens - 1);

test('where nothing is accepted, no text is more than 3 % slower, however long it is', () => {
  for (const pass of [inRam, streamed, (tokens: number) => tokens])
    for (const draftSeconds of [0, 0.1, 0.5, 1])
      for (const tokens of [1, 2, 5, 16, 64, 128, 1000, 5000])
        for (const noise of [0, 0.3]) {
          const slower = slowdown({ pass, draftSeconds, acceptance: () => 0, tokens, noise });
          // Noise of the few passes of a short text is none of its own.
          const most = noise === 0 || tokens >= 1000 ? 1.03 : 1.03 + noise / 2;
          assert.ok(slower <= most, `${tokens} tokens, draft ${draftSeconds} s, noise ${noise}: ${slower}`);
        }
});

test('an attempt is of four tokens, of as many as can be afforded, and of one after one that failed', () => {
  const offer: Offer = { source: 'draft', most: 8, startSeconds: 0.5, tokenSeconds: 0.4 };
  const times = { lookSeconds: 0, passSeconds: 1 };
  const attempt = (learningSeconds: number): readonly (number | undefined)[] => {
    const length = createDraftLength({ tokens: 1, seconds: 0 }, learningSeconds);
    length.plain(times);
    const first = length.choose([offer])?.tokens;
    const drafted = { drafted: 4, accepted: 0, draftSeconds: 2.1, expectedDraftSeconds: 2.1 };
    length.verified({ source: 'draft', asked: 4, ...drafted, ...times });
    const soon = length.choose([offer])?.tokens;
    for (let token = 0; token < 16; token++) length.plain(times);
    return [first, soon, length.choose([offer])?.tokens];
  };
  // A draft of n tokens takes 0.5 + 0.4n, and their verification 0.7n more than a pass of one is assumed to.
  assert.equal(attempt(100), [4, undefined, 1]);
  assert.is(attempt(2.8)[0], 2);
  assert.is(attempt(1)[0], undefined);
});

test('after losses no attempt is made that is too short to pay: its loss would delay one that pays', () => {
  // Drafts of one and two take longer than tokens one by one: 3 + 0.12n s for 1 + n tokens.
  const offer: Offer = { source: 'draft', most: 8, startSeconds: 2, tokenSeconds: 0.1 };
  const length = createDraftLength({ tokens: 1, seconds: 0 });
  length.plain({ lookSeconds: 0, passSeconds: 1 });
  // All are right, but much of the text had to be read for each.
  for (let draft = 0; draft < 40; draft++) {
    const times = { lookSeconds: 0, passSeconds: streamed(9), draftSeconds: 8.2, expectedDraftSeconds: 8.2 };
    length.verified({ source: 'draft', asked: 8, drafted: 8, accepted: 8, ...times });
  }
  assert.ok(length.allowance < 0);
  let tokens: number | undefined;
  for (let pass = 0; pass < 5000 && tokens === undefined; pass++) {
    tokens = length.choose([offer])?.tokens;
    if (tokens === undefined) length.plain({ lookSeconds: 0, passSeconds: 1 });
  }
  assert.ok(tokens !== undefined && tokens >= 3, `${tokens}`);
});

test('looking at what could be drafted is bounded as drafts are: in small models it takes a part of a pass', () => {
  for (const lookSeconds of [0.01, 0.05, 0.2, 1])
    for (const tokens of [16, 100, 1000]) {
      const slower = slowdown({ pass: inRam, draftSeconds: 0.2, acceptance: () => 0, tokens, lookSeconds });
      // The first look is not bounded: what it takes isn't known.
      assert.ok(slower <= 1.03 + lookSeconds / tokens, `${tokens} tokens, looks of ${lookSeconds} s: ${slower}`);
    }
});

test('text that is accepted takes at most a tenth more than with the best fixed length', () => {
  for (const [pass, draftSeconds, alpha] of [
    [inRam, 0.1, 0.8],
    [inRam, 0, 0.6],
    [streamed, 0.02, 0.8],
    [streamed, 0.02, 0.5],
  ] as const) {
    const fixed = Array.from({ length: 9 }, (_, draftTokens) => {
      const seconds = draftTokens * draftSeconds + pass(draftTokens + 1);
      return seconds / expectedTokens({ acceptanceRate: alpha, draftTokens });
    });
    const found = slowdown({ pass, draftSeconds, acceptance: () => alpha, tokens: 2000 });
    assert.ok(found <= 1.1 * Math.min(...fixed), `α ${alpha}: ${found}, the best is ${Math.min(...fixed)}`);
  }
});

test('a draft that stops where it is not sure is asked for as many tokens as pay on average', () => {
  const costs = { acceptanceRate: 0.98, sureRate: 0.85, draftSeconds: 0.2, verifySeconds: inRam };
  const best = Math.min(
    ...Array.from({ length: 8 }, (_, index) => speculativeSeconds({ ...costs, draftTokens: index + 1 })),
  );
  const found = slowdown({ pass: inRam, draftSeconds: 0.2, acceptance: () => 0.98, sure: 0.85, tokens: 2000 });
  assert.ok(found <= 1.1 * best, `${found}, the best is ${best}`);
  const unsure = slowdown({ pass: inRam, draftSeconds: 0.2, acceptance: () => 1, sure: 0, tokens: 1000 });
  assert.ok(unsure <= 1.03, `${unsure}`);
});

test('drafting goes on when a text becomes predictable, and ends when it no longer is', () => {
  const half = (first: number, second: number) => (position: number) => (position < 1000 ? first : second);
  const common = { pass: inRam, draftSeconds: 0.1, tokens: 2000 };
  const always = slowdown({ ...common, acceptance: () => 0.9 });
  const later = slowdown({ ...common, acceptance: half(0, 0.9) });
  const earlier = slowdown({ ...common, acceptance: half(0.9, 0) });
  assert.ok(later < 0.5 * (1.03 + always) + 0.1, `${later}, and ${always} where all can be guessed`);
  assert.ok(earlier < 0.5 * (1.03 + always) + 0.05, `${earlier}`);
});

test('short texts are drafted for once earlier ones have gained', () => {
  const text = { pass: inRam, draftSeconds: 0.1, acceptance: () => 0.95, tokens: 16 };
  assert.ok(slowdown(text) > 0.95, 'alone, a text is too short for a first draft');
  const length = createDraftLength({ tokens: 1, seconds: 0 });
  const texts = Array.from({ length: 20 }, () => slowdown({ ...text, length }));
  assert.ok(Math.max(...texts) <= 1.03);
  const best = speculativeSeconds({ acceptanceRate: 0.95, draftSeconds: 0.1, verifySeconds: inRam, draftTokens: 8 });
  const later = texts.slice(10).reduce((sum, one) => sum + one, 0) / 10;
  assert.ok(later <= 1.2 * best, `${later}; the best is ${best}`);
});

test('the first text is drafted for at once where it may lose a pass', () => {
  const common = { pass: inRam, draftSeconds: 0.1, tokens: 96 };
  const found = slowdown({ ...common, acceptance: () => 0.95 });
  const best = speculativeSeconds({ acceptanceRate: 0.95, draftSeconds: 0.1, verifySeconds: inRam, draftTokens: 8 });
  assert.ok(found <= 1.3 * best, `${found}; the best is ${best}`);
  assert.ok(slowdown({ ...common, acceptance: () => 0 }) <= 1.03);
});

test('what earlier texts gained is not lost where nothing is accepted, but for some passes', () => {
  const length = createDraftLength({ tokens: 1, seconds: 0 });
  const common = { pass: inRam, draftSeconds: 0.1, tokens: 500, length };
  slowdown({ ...common, acceptance: () => 0.95 });
  const [first, second] = [1, 2].map(() => slowdown({ ...common, acceptance: () => 0 }) as number);
  assert.ok((first as number) <= 1.03 + 8 / 500, `${first}`);
  assert.ok((second as number) <= 1.03, `${second}`);
});

test('a prompt that took long lets the first draft be made at once', () => {
  const first = (tokens: number, seconds: number): number => {
    const length = createDraftLength({ tokens, seconds });
    for (let passes = 1; ; passes++) {
      length.plain({ lookSeconds: 0, passSeconds: 1 });
      if (length.choose([{ source: 'draft', most: 8, startSeconds: 0, tokenSeconds: 0.1 }]) !== undefined)
        return passes;
    }
  };
  assert.is(first(500, 100), 1);
  assert.is(first(20, 1.2), 5, 'a prompt that took little more than a token says that further tokens are cheap');
  assert.ok(first(5, 5) > 30);
});

test.run();
