import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import {
  GOLDEN_MODELS,
  type Golden,
  type GoldenLogits,
  type GoldenModel,
  goldenModel,
  readGolden,
} from '../support/golden-models.ts';
import { testIf } from '../support/needs.ts';
import { roundsMore } from '../support/rounding-sets.ts';
import { nmse } from './nmse.ts';

interface Found {
  readonly short: Float32Array;
  readonly long: Float32Array;
}

type Prompt = 'short' | 'long';

interface Way {
  readonly kvCache: KvFormat;
  /** Whether a prompt's tokens are evaluated in one step or one by one. */
  readonly tokens: 'at once' | 'one by one';
}

/** The logits of both prompts: of all positions of the short one and the last of the long one. Closes the kernels. */
function evaluate(kernels: Kernels, path: string, golden: Golden, { kvCache, tokens: way }: Way): Found {
  const transformer = loadTransformer(path, { kernels, context: 200, kvCache });
  const all = (tokens: readonly number[]): Float32Array =>
    way === 'at once'
      ? transformer.evaluateAll(tokens).slice()
      : Float32Array.from(tokens.flatMap((token) => [...transformer.evaluate([token])]));
  const short = all(golden.prompt_short);
  transformer.rewind(0);
  const long = all(golden.prompt_long).slice(-golden.n_vocab);
  kernels.close();
  return { short, long };
}

function distance(found: Found, expected: GoldenLogits, prompt: Prompt): number {
  const rows = expected[`${prompt}_logits`];
  const all = Float32Array.from(rows.flatMap((row) => [...row]));
  return nmse(found[prompt], all);
}

/**
 * Compares the most probable token at each step of a given continuation with the truth's, if the truth's lead is above
 * `gap`. A different choice at a closer step does not affect the following steps.
 * @returns the number of steps compared
 */
function compareGreedy(
  kernels: Kernels,
  path: string,
  golden: Golden,
  { prompt, gap }: { readonly prompt: Prompt; readonly gap: number },
): number {
  const [tokens, greedy] = [golden[`prompt_${prompt}`], golden.ref64[`${prompt}_greedy`]];
  const gaps = golden.ref64[`${prompt}_greedy_gap`];
  const transformer = loadTransformer(path, { kernels, context: tokens.length + greedy.length });
  const given = [...tokens, ...greedy.slice(0, -1)];
  const logits = transformer.evaluateAll(given);
  let compared = 0;
  for (const [step, token] of greedy.entries()) {
    if ((gaps[step] as number) <= gap) continue;
    compared++;
    const at = tokens.length - 1 + step;
    const row = logits.subarray(at * golden.n_vocab, (at + 1) * golden.n_vocab);
    assert.is(row.indexOf(Math.max(...row)), token, `${prompt}, step ${step}`);
  }
  kernels.close();
  return compared;
}

/** Sum of the log-probabilities of a prompt's tokens except the first: the score of a text. */
function logProbability(kernels: Kernels, path: string, { prompt_long: tokens, n_vocab }: Golden): number {
  const logits = loadTransformer(path, { kernels, context: tokens.length }).evaluateAll(tokens);
  kernels.close();
  return tokens.slice(1).reduce((sum, token, i) => {
    const row = logits.subarray(i * n_vocab, (i + 1) * n_vocab);
    const top = Math.max(...row);
    return (
      sum + (row[token] as number) - top - Math.log(row.reduce((total, logit) => total + Math.exp(logit - top), 0))
    );
  }, 0);
}

const reference = (): Kernels => openKernels({ implementation: 'reference' });
const native = (instructionSet = 'auto', exact = false): Kernels =>
  openKernels({ implementation: 'native', threads: 2, instructionSet, exact });

function testModel(name: GoldenModel): void {
  const path = goldenModel(name);
  const quantized = !name.endsWith('F16');
  const gap = quantized ? 0.3 : 0.03;
  const golden = readGolden(name);
  let found: Found | undefined;
  /** Without rounding. */
  const exact = (): Found => {
    found ??= evaluate(reference(), path, golden, { kvCache: 'F32', tokens: 'at once' });
    return found;
  };

  test(`${name}: exact activations give the logits of double precision`, () => {
    for (const prompt of ['short', 'long'] as const) {
      const error = distance(exact(), golden.ref64, prompt);
      assert.ok(error <= 1e-10, `${prompt}: ${error}`);
    }
    assert.ok(compareGreedy(reference(), path, golden, { prompt: 'short', gap }) > 10);
  });

  for (const set of NATIVE_SETS) {
    let atOnce: Found | undefined;
    /** As users run it, with a cache in F32. */
    const rounded = (): Found => {
      atOnce ??= evaluate(native(set), path, golden, { kvCache: 'F32', tokens: 'at once' });
      return atOnce;
    };

    test(`${name}, ${set}: logits are as near to double precision as llama.cpp's`, () => {
      // llama.cpp's strict configuration has a cache in F32, its default one in F16.
      const inF16 = evaluate(native(set), path, golden, { kvCache: 'F16', tokens: 'at once' });
      for (const [kvCache, theirs, found] of [
        ['F32', 'strict', rounded()],
        ['F16', 'default', inF16],
      ] as const) {
        for (const prompt of ['short', 'long'] as const) {
          const [error, own] = [distance(found, golden.ref64, prompt), golden.nmse[`${prompt}.${theirs}_vs_ref64`]];
          assert.ok(error <= 1.2 * own, `${prompt}, ${kvCache}: ${error}, llama.cpp ${own}`);
        }
      }
    });

    test(`${name}, ${set}: the most probable tokens are those of double precision`, () => {
      for (const prompt of ['short', 'long'] as const)
        assert.ok(compareGreedy(native(set), path, golden, { prompt, gap }) > 10);
    });

    test(`${name}, ${set}: rounding changes logits by less than the bound, at once and one by one`, () => {
      for (const exact of roundsMore(set) ? [true, false] : [true]) {
        for (const tokens of ['at once', 'one by one'] as const) {
          const found =
            tokens === 'at once' && !exact
              ? rounded()
              : evaluate(native(set, exact), path, golden, { kvCache: 'F32', tokens });
          for (const prompt of ['short', 'long'] as const) {
            const error = distance(found, golden.ref64, prompt);
            // 15 bits of activations cost 2.2e-7 at most in these models, 8 bits 1.8e-3, and products of bfloat16 3.6e-4.
            const bound = quantized ? (exact ? 1e-6 : 2.5e-3) : 1e-10;
            assert.ok(error <= bound, `${exact ? 'exact, ' : ''}${prompt}, ${tokens}: ${error}`);
          }
        }
      }
    });
  }

  test(`${name}: a quantized cache changes logits by its rounding`, () => {
    // Seen in these random models: 1.2e-4 to 4.7e-4 with bytes, 0.03 to 0.12 with four bits (docs/how-to/limit-memory.md).
    for (const [kvCache, least, most] of [
      ['Q8_0', 5e-5, 6e-4],
      ['Q4_0', 1e-2, 0.15],
    ] as const) {
      const kernels = reference();
      const found = loadTransformer(path, { kernels, context: 200, kvCache }).evaluateAll(golden.prompt_short);
      const error = nmse(found, exact().short);
      kernels.close();
      assert.ok(error >= least && error <= most, `${kvCache}: ${error}`);
    }
  });

  testIf(NATIVE_SETS.length > 0, 'no native kernels', `${name}: a text of 200 tokens is as probable`, () => {
    const [found, expected] = [native(), reference()].map((kernels) => logProbability(kernels, path, golden));
    assert.ok(Math.abs((found as number) / (expected as number) - 1) <= 0.005, `${found}, reference ${expected}`);
  });
}

for (const name of GOLDEN_MODELS) testModel(name);

test.run();
