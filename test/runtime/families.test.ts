import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { planWithLayers } from '../../commands/gpu-layers.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import { loadSequences, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { chosenExperts, observedRoutes } from '../../engine/runtime/observed/observed-routes.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import {
  type GoldenArchitecture,
  goldenArchitecture,
  goldenArchitecturePath,
  hasGoldenArchitecture,
} from '../support/golden-architectures.ts';
import { GPU_KERNELS } from '../support/gpu.ts';
import { nmse } from './nmse.ts';

/** Families against a forward pass in double precision: 64 tokens, of which the logits at five positions are known. */
const MODELS = [
  'deepseek2-lite-F16',
  'deepseek2-mla-F16',
  'deepseek2-mla-Q4_K_M',
  'ernie4_5-moe-F16',
  'gemma3-F16',
  'gemma3-Q8_0',
  'gemma4-F16',
  'gemma4-moe-F16',
  'glm4moe-F16',
  'gpt-oss-F16',
  'gpt-oss-MXFP4',
  'granite-F16',
  'granite-hybrid-F16',
  'granitemoe-F16',
  'hunyuan-moe-F16',
  'lfm2-F16',
  'lfm2moe-F16',
  'llama-freqs-F16',
  'llama-linear-F16',
  'llama-moe-F16',
  'llama-moe-Q4_K_M',
  'llama-yarn-F16',
  'minimax-m2-F16',
  'mistral3-F16',
  'nemotron-h-moe-F16',
  'olmoe-F16',
  'phi3-F16',
  'qwen2moe-F16',
  'qwen35-F16',
  'qwen35moe-F16',
  'qwen3moe-F16',
  'qwen3moe-Q4_K_M',
  'qwen3next-F16',
  'smollm3-F16',
] as const;

/** Models of which bfloat16 turns some choices: 43 of 1664, and 1 of 256. */
const CLOSE_CHOICES = /^(deepseek2-lite|qwen35moe)/;

/**
 * How far llama.cpp's own logits are from double precision, with which quantized models are compared: of all 64 positions as
 * users run it (cache in F16), and of the five that are stored.
 */
const LLAMA_CPP_DISTANCES: ReadonlyMap<string, { readonly all: number; readonly stored: number }> = new Map([
  ['deepseek2-mla-Q4_K_M', { all: 7.7e-4, stored: 5.9e-4 }],
  ['gemma3-Q8_0', { all: 2.7e-4, stored: 2.5e-4 }],
  ['gpt-oss-MXFP4', { all: 2.8e-3, stored: 3.8e-3 }],
  ['llama-moe-Q4_K_M', { all: 6.5e-4, stored: 5.4e-4 }],
  ['qwen3moe-Q4_K_M', { all: 5e-4, stored: 4.8e-4 }],
]);

/** Models whose layers keep unlike things of a text, which can't leave a GPU in pages. */
const UNLIKE = /^(gemma4|granite-hybrid|lfm2|nemotron|qwen35|qwen3next)/;

const test = suite('families of models');
const missing = MODELS.filter((name) => !hasGoldenArchitecture(name));
if (missing.length > 0) console.log(`skipped: ${missing.join(', ')} (no shared folder of golden models)`);

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const CONTEXT = 256;

/** The share by which logits of all tokens differ at the positions that are known. */
function differenceFrom({ tokens, positions, reference }: GoldenArchitecture, logits: Float32Array): number {
  const width = logits.length / tokens.length;
  const found = positions.flatMap((position) => [...logits.subarray(position * width, (position + 1) * width)]);
  return nmse(Float32Array.from(found), Float32Array.from(reference.logits.flat()));
}

/** Whole, token by token, and in parts of seven: windows and positions carry over. */
function inParts(
  path: string,
  kernels: Kernels,
  tokens: readonly number[],
  length: number,
  kvCache: KvFormat = 'F32',
): Float32Array {
  const transformer = loadTransformer(path, { kernels, context: CONTEXT, kvCache });
  const logits = new Float32Array(tokens.length * transformer.model.vocabularySize);
  for (let from = 0; from < tokens.length; from += length)
    logits.set(transformer.evaluateAll(tokens.slice(from, from + length)), from * transformer.model.vocabularySize);
  return logits;
}

function withKernels(options: KernelOptions, body: (kernels: Kernels) => void): void {
  const kernels = openKernels({ threads: 2, ...options });
  body(kernels);
  kernels.close();
}

interface Chosen {
  /** Experts that routers choose for a text, in ascending order: [layer with experts][token][experts] */
  readonly experts: readonly (readonly (readonly number[])[])[];
  /** Logits of all tokens: [tokens][vocabulary] */
  readonly logits: Float32Array;
}

/** Evaluates a golden text at once and observes what its routers choose. */
function chosenBy(own: Kernels, name: string, layers: number): Chosen {
  const chosen = Array.from({ length: layers }, (): number[][] => []);
  let routes = 0;
  const kernels = observedRoutes(own, (route) => {
    const { used } = route.router;
    const experts = [...chosenExperts(route)];
    for (let at = 0; at < experts.length; at += used)
      chosen[routes % layers]?.push(experts.slice(at, at + used).sort((one, other) => one - other));
    routes++;
  });
  const logits = inParts(goldenArchitecturePath(name), kernels, goldenArchitecture(name).tokens, 64);
  return { experts: chosen, logits };
}

for (const name of MODELS.filter(hasGoldenArchitecture)) {
  let byReference: Chosen | undefined;
  /** Without rounding, computed once for a model. */
  const exact = (): Chosen => {
    if (byReference === undefined) {
      const kernels = openKernels({ implementation: 'reference' });
      byReference = chosenBy(kernels, name, Object.keys(goldenArchitecture(name).routing?.experts ?? {}).length);
      kernels.close();
    }
    return byReference;
  };

  if (goldenArchitecture(name).routing !== undefined)
    for (const implementation of ['reference', 'native'] as const)
      test(`${name}: ${implementation} kernels choose the experts of double precision`, () => {
        const expected = Object.values(goldenArchitecture(name).routing?.experts ?? {});
        if (implementation === 'reference') return assert.equal(exact().experts, expected);
        withKernels({ implementation, exact: CLOSE_CHOICES.test(name) }, (kernels) =>
          assert.equal(chosenBy(kernels, name, expected.length).experts, expected),
        );
      });

  test(`${name}: reference kernels`, () => {
    const difference = differenceFrom(goldenArchitecture(name), exact().logits);
    assert.ok(difference < 1e-10, String(difference));
  });

  for (const instructionSet of NATIVE_SETS)
    test(`${name}: native kernels, ${instructionSet}`, () => {
      const golden = goldenArchitecture(name);
      withKernels({ implementation: 'native', instructionSet, exact: true }, (kernels) => {
        for (const length of [64, 7, 1]) {
          const difference = differenceFrom(
            golden,
            inParts(goldenArchitecturePath(name), kernels, golden.tokens, length),
          );
          assert.ok(difference < 1e-5, `${length} together: ${difference}`);
        }
      });
    });

  const distance = LLAMA_CPP_DISTANCES.get(name);
  if (distance !== undefined && NATIVE_SETS.length > 0)
    test(`${name}: by default, no further from double precision than one and a half times as far as llama.cpp`, () => {
      const golden = goldenArchitecture(name);
      for (const instructionSet of NATIVE_SETS)
        withKernels({ implementation: 'native', instructionSet }, (kernels) => {
          for (const length of [64, 1]) {
            const found = inParts(goldenArchitecturePath(name), kernels, golden.tokens, length, 'F16');
            const [all, stored] = [nmse(found, exact().logits), differenceFrom(golden, found)];
            const told = `${instructionSet}, ${length} together: ${all}, ${stored}`;
            assert.ok(all < 1.5 * distance.all && stored < 1.5 * distance.stored, told);
          }
        });
    });

  if (name.endsWith('F16') && NATIVE_SETS.length > 0)
    test(`${name}: unless told otherwise, weights in F16 are not rounded`, () => {
      const golden = goldenArchitecture(name);
      // With a cache in F16, which is what is left, llama.cpp's own logits are off by 8e-8 to 5e-5.
      const inF16 = /^deepseek2-lite/.test(name) ? 4e-5 : 2e-6;
      withKernels({ implementation: 'native' }, (kernels) => {
        for (const [kvCache, most] of [
          ['F32', 1e-10],
          ['F16', inF16],
        ] as const) {
          const found = inParts(goldenArchitecturePath(name), kernels, golden.tokens, 64, kvCache);
          const difference = differenceFrom(golden, found);
          assert.ok(difference < most, `cache in ${kvCache}: ${difference}`);
        }
      });
    });

  test(`${name}: split between CPU and GPU, with the cache next to the layers and in pages`, async () => {
    const gpu = GPU_KERNELS[0]?.kernels;
    if (gpu === undefined) return;
    const golden = goldenArchitecture(name);
    const cpu = openKernels({ implementation: 'reference' });
    const open = () => openSplitModel(goldenArchitecturePath(name), { cpu, gpu, context: CONTEXT, kvCache: 'F32' });
    if (name === 'gemma4-F16') {
      assert.throws(open, /has embeddings of tokens for each of its layers, which only one processor/);
      return cpu.close();
    }
    const split = open();
    const half = Math.floor(split.model.layers / 2);
    const plan = planWithLayers(split.model, half);
    for (const kvCache of ['with-layers', 'host'] as const) {
      if (kvCache === 'host' && UNLIKE.test(name)) {
        const message = await split.on({ ...plan, kvCache }).catch((error: Error) => error.message);
        assert.match(String(message), /unlike keys and values can’t be moved/);
        continue;
      }
      const transformer = await split.on({ ...plan, kvCache });
      const width = split.model.vocabularySize;
      const logits = new Float32Array(golden.tokens.length * width);
      for (const position of golden.positions) {
        const from = transformer.position;
        logits.set(await transformer.evaluate(golden.tokens.slice(from, position + 1)), position * width);
      }
      const difference = differenceFrom(golden, logits);
      assert.ok(difference < 1e-5, `${kvCache}: ${difference}`);
    }
    split.close();
    cpu.close();
  });

  test(`${name}: two texts together, in pages of four tokens`, async () => {
    const golden = goldenArchitecture(name);
    const kernels = openKernels({ implementation: 'native', threads: 2, exact: true });
    const size = { context: CONTEXT, kvCache: 'F32', pages: 40, pageTokens: 4, folder } as const;
    const sequences = loadSequences(goldenArchitecturePath(name), { kernels, ...size, warn: () => {} });
    const texts = [sequences.open(), sequences.open()];
    const width = sequences.model.vocabularySize;
    const logits = texts.map(() => new Float32Array(golden.tokens.length * width));
    for (let from = 0; from < golden.tokens.length; from += 16) {
      const tokens = golden.tokens.slice(from, from + 16);
      const found = await sequences.evaluate(texts.map((sequence) => ({ sequence, tokens, logits: 'all' })));
      for (const [index, own] of logits.entries())
        own.set(found.subarray(index * tokens.length * width, (index + 1) * tokens.length * width), from * width);
    }
    for (const own of logits) assert.ok(differenceFrom(golden, own) < 1e-5, String(differenceFrom(golden, own)));
    kernels.close();
  });
}

test.run();
