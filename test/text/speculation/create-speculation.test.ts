import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { generate, type VerifyingModel } from '../../../engine/text/generate.ts';
import { createSampler, type SamplerOptions } from '../../../engine/text/sampling/sampler.ts';
import { createSpeculation, type SpeculationOptions } from '../../../engine/text/speculation/create-speculation.ts';
import { createDraftLength } from '../../../engine/text/speculation/draft-length.ts';
import { lookAhead } from '../../../engine/text/speculation/look-ahead.ts';
import { createModelDrafter } from '../../../engine/text/speculation/model-drafter.ts';
import { createPromptLookup } from '../../../engine/text/speculation/prompt-lookup.ts';

const VOCABULARY = 8;
const TOKENIZER = { bytesOf: (token: number) => Uint8Array.of(0x61 + token), stops: new Set<number>() };
const GREEDY: SamplerOptions = { temperature: 0, topK: 0, topP: 1, minP: 0, repeatPenalty: 1 };
const SAMPLED: SamplerOptions = { ...GREEDY, temperature: 1 };

interface ToyModel extends VerifyingModel {
  /** Sizes of the passes. */
  readonly passes: number[];
}

const logits = new Map<string, Float32Array>();

/** Logits that depend on the last two tokens, from tables of `seed`; `mixed` in the logits of another model. */
function toyModel(seed: number, { mixed = 0, contextLength = 10_000 } = {}): ToyModel {
  const logitsAfter = (before: number, last: number): Float32Array => {
    const key = [seed, mixed, before, last].join();
    const known = logits.get(key) ?? drawLogits(before, last);
    logits.set(key, known);
    return known;
  };
  const drawLogits = (before: number, last: number): Float32Array => {
    const [own, shared] = [randomStream(seed, `${before} ${last}`), randomStream(1, `${before} ${last}`)];
    return Float32Array.from(
      { length: VOCABULARY },
      () => (1 - mixed) * 3 * shared.normal() + mixed * 3 * own.normal(),
    );
  };
  const held: number[] = [];
  const passes: number[] = [];
  const rows = (tokens: readonly number[]): Float32Array[] => {
    assert.ok(held.length + tokens.length <= contextLength, 'room in the context');
    passes.push(tokens.length);
    return tokens.map((token) => {
      const before = held.at(-1) ?? 0;
      held.push(token);
      return logitsAfter(before, token);
    });
  };
  return {
    contextLength,
    passes,
    get position() {
      return held.length;
    },
    evaluate: (tokens) => rows(tokens).at(-1) as Float32Array,
    verify: (tokens) => Float32Array.from(rows(tokens).flatMap((row) => [...row])),
    rewind(position) {
      assert.ok(position <= held.length);
      held.length = position;
    },
  };
}

interface Written {
  readonly tokens: readonly number[];
  readonly model: ToyModel;
  readonly figures: ReturnType<typeof createSpeculation>['figures'] | undefined;
}

interface Writing {
  readonly sampling?: SamplerOptions;
  readonly seed?: number;
  readonly tokens?: number;
  readonly draft?: ToyModel;
  readonly lookup?: number;
  /** Tokens at a time; `adaptive`: as many as pay. */
  readonly drafted?: number | 'adaptive';
  readonly prompt?: readonly number[];
  /** Tokens after which the draft has nothing more. */
  readonly stops?: ReadonlySet<number>;
  /** Seconds of a pass of one token, as far as they are known before. */
  readonly passSeconds?: number;
}

async function write(writing: Writing = {}): Promise<Written> {
  const { sampling = GREEDY, seed = 1, tokens = 200, draft, lookup, drafted, prompt = [1, 2, 3] } = writing;
  const { stops = TOKENIZER.stops } = writing;
  const model = toyModel(1);
  const stream = lookAhead(randomStream(seed, 'sampler'));
  let now = 0;
  const clock = (): number => (now += 1e-3);
  const drafter =
    draft &&
    createModelDrafter({
      model: draft,
      sampler: () => createSampler(sampling, stream.coming()),
      vocabularySize: VOCABULARY,
      stops,
      clock,
    });
  const length = createDraftLength({ tokens: 1, seconds: 0 });
  if (writing.passSeconds !== undefined) length.know({ tokens: 1, seconds: writing.passSeconds });
  const options: SpeculationOptions = {
    ...{ model, drafter, clock, length },
    lookup: lookup === undefined ? undefined : createPromptLookup(lookup),
    tokens: drafted === 'adaptive' ? undefined : drafted,
  };
  const speculation = drafted === undefined ? undefined : createSpeculation(options);
  const sampler = createSampler(sampling, stream);
  const generated = await generate({ model, tokenizer: TOKENIZER, prompt, tokens, sampler, speculation, clock });
  return { tokens: generated.tokens, model, figures: speculation?.figures };
}

test('texts with drafts are those without, token for token: greedy and drawn, by lookup and by models', async () => {
  for (const sampling of [GREEDY, SAMPLED, { ...SAMPLED, temperature: 0.7, topK: 4, repeatPenalty: 1.3 }]) {
    const { tokens: plain } = await write({ sampling });
    const drafts: Writing[] = [{ lookup: 3 }, ...[0, 0.2, 1].map((mixed) => ({ draft: toyModel(2, { mixed }) }))];
    for (const draft of [...drafts, { lookup: 4, draft: toyModel(2, { mixed: 0.3 }) }])
      for (const drafted of [1, 3, 8, 'adaptive'] as const) {
        const { tokens } = await write({ ...draft, sampling, drafted });
        assert.equal(tokens, plain, `${JSON.stringify(sampling)}, ${drafted} tokens`);
      }
  }
});

test('a draft that is the model itself is always accepted, greedy and drawn', async () => {
  const { figures, model } = await write({ sampling: SAMPLED, draft: toyModel(1), drafted: 4, tokens: 101 });
  assert.equal(figures?.sources, { draft: { drafted: 80, accepted: 80 } });
  assert.equal(model.passes, [3, ...new Array(20).fill(5)]);
  const greedy = await write({ sampling: GREEDY, draft: toyModel(1), drafted: 4, tokens: 101 });
  assert.is(greedy.figures?.accepted, greedy.figures?.drafted);
});

test('the gain is that of ten verifications or more', async () => {
  const writing = { sampling: SAMPLED, drafted: 4, passSeconds: 1 };
  for (const [verifications, isSaid] of [
    [9, false],
    [10, true],
  ] as const) {
    const { figures } = await write({ ...writing, draft: toyModel(1), tokens: 1 + 5 * verifications });
    assert.is(figures?.passes, verifications);
    assert.is(figures?.gain !== undefined, isSaid, `${figures?.gain}`);
  }
});

test('what a call takes besides its passes is no part of what a drafted token takes', async () => {
  let now = 0;
  let position = 0;
  const model = {
    contextLength: 100,
    get position() {
      return position;
    },
    rewind(to: number) {
      position = to;
    },
    evaluate(tokens: readonly number[]) {
      position += tokens.length;
      now += tokens.length;
      return new Float32Array(VOCABULARY);
    },
    writeGreedily(tokens: readonly number[], { most }: { readonly most: number }) {
      position += tokens.length + most - 1;
      now += 5 + tokens.length + most - 1;
      return new Array<number>(most).fill(1);
    },
  };
  const drafter = createModelDrafter({
    ...{ model, vocabularySize: VOCABULARY, stops: TOKENIZER.stops, clock: () => now },
    sampler: () => createSampler(GREEDY, { next: () => 0 }),
  });
  await drafter.read([1, 2, 3], true);
  const offer = () => drafter.offer([1, 2, 3]);
  assert.equal(offer(), { startSeconds: 0, tokenSeconds: 1 });
  await drafter.draft([1, 2, 3], 2);
  assert.equal(offer(), { startSeconds: 5, tokenSeconds: 1 });
});

test('in a greedy text a draft ends before a token that leads the next one by less than ln 1.25', async () => {
  const [text, leads] = [[1, 2, 3], [] as number[]];
  const model = toyModel(1);
  let row = await model.evaluate(text);
  for (let token = 0; token < 100; token++) {
    const [first = 0, second = 0] = [...row].sort((a, b) => b - a);
    leads.push(first - second);
    row = await model.evaluate([row.indexOf(first)]);
  }
  // The first token is given by the prompt; a pass gives a token after those that were drafted.
  const passes = [3];
  for (let next = 1; next < 100; ) {
    let drafted = 0;
    while (drafted < 4 && next + drafted < 99 && (leads[next + drafted] as number) >= Math.log(1.25)) drafted++;
    passes.push(1 + drafted);
    next += 1 + drafted;
  }
  const found = await write({ draft: toyModel(1), drafted: 4, tokens: 100 });
  assert.equal(found.model.passes, passes);
  assert.ok(new Set(passes.slice(1)).size > 1, 'drafts of several lengths');
});

test('the text has as many tokens as were asked for, however many are accepted', async () => {
  for (let tokens = 1; tokens < 12; tokens++) {
    const found = await write({ draft: toyModel(1), drafted: 4, tokens });
    assert.is(found.tokens.length, tokens);
    // All tokens but the last are in the KV cache, as without drafts.
    assert.is(found.model.position, 3 + tokens - 1);
  }
});

test('a lookup is accepted where a greedy text repeats itself', async () => {
  const { figures, model } = await write({ lookup: 4, drafted: 8, tokens: 200 });
  assert.ok((figures?.accepted ?? 0) > 150, JSON.stringify(figures));
  assert.ok(model.passes.length < 50);
});

test('a draft whose context is shorter than the text goes on with its end', async () => {
  const draft = toyModel(1, { contextLength: 40 });
  const { figures, tokens } = await write({ draft, drafted: 4, tokens: 200 });
  assert.equal(tokens, (await write()).tokens);
  assert.ok((figures?.accepted ?? 0) > 0.9 * (figures?.drafted ?? 0), JSON.stringify(figures));
});

test('nothing is drafted after a token that ends a text', async () => {
  const [ends] = (await write({ tokens: 20 })).tokens.slice(-1);
  const { tokens, model } = await write({
    sampling: SAMPLED,
    draft: toyModel(1),
    drafted: 4,
    stops: new Set([ends ?? 0]),
  });
  let at = 1;
  for (const verified of model.passes.slice(1)) {
    const drafted = tokens.slice(at, at + verified - 1);
    assert.not.ok(drafted.slice(0, -1).includes(ends ?? 0), `${drafted}`);
    at += verified;
  }
  assert.is(at, 200);
  assert.ok(model.passes.some((verified) => verified < 5 && verified > 1));
});

/**
 * Three drawn tokens of a vocabulary of eight, 512 texts in all, whose probabilities are known: Pearson's χ² of 20,000
 * texts. Texts expected less than five times count as one.
 */
test('drawn texts have the distribution of the model, whatever is drafted', async () => {
  const [texts, length] = [20_000, 3];
  const model = toyModel(1);
  const softmax = (logits: Float32Array): number[] => {
    const powers = [...logits].map(Math.exp);
    const sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  };
  const expected = new Map<string, number>();
  const extend = (text: readonly number[], probability: number): void => {
    if (text.length === length) return void expected.set(text.join(), probability);
    model.rewind(0);
    const next = softmax(model.evaluate([1, 2, ...text]) as Float32Array);
    for (const [token, share] of next.entries()) extend([...text, token], probability * share);
  };
  extend([], 1);
  const counts = new Map<string, number>();
  let [drafted, accepted] = [0, 0];
  for (let seed = 1; seed <= texts; seed++) {
    const draft = toyModel(2, { mixed: 0.4 });
    const found = await write({ sampling: SAMPLED, seed, tokens: length, prompt: [1, 2], draft, drafted: 2 });
    const text = found.tokens.join();
    counts.set(text, (counts.get(text) ?? 0) + 1);
    drafted += found.figures?.drafted ?? 0;
    accepted += found.figures?.accepted ?? 0;
  }
  // Both outcomes of the rule occur often.
  assert.ok(accepted > 0.2 * drafted && accepted < 0.8 * drafted, `${accepted} of ${drafted}`);
  let [chiSquare, cells] = [0, 0];
  const rare = { count: 0, expected: 0 };
  for (const [text, probability] of expected) {
    const [count, mean] = [counts.get(text) ?? 0, probability * texts];
    if (mean < 5) {
      rare.count += count;
      rare.expected += mean;
      continue;
    }
    chiSquare += (count - mean) ** 2 / mean;
    cells += 1;
  }
  chiSquare += (rare.count - rare.expected) ** 2 / rare.expected;
  // Wilson and Hilferty 1931: χ² to the third root is nearly normal; 3.1 standard deviations are exceeded once in 1000.
  const deviations = (Math.cbrt(chiSquare / cells) - (1 - 2 / (9 * cells))) / Math.sqrt(2 / (9 * cells));
  assert.ok(deviations < 3.1, `χ² ${chiSquare} of ${cells} degrees of freedom`);
});

test.run();
