import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import type { GgufTensor } from '../../engine/gguf/gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { SCALED_MATRICES } from '../../engine/model/block/layer-weight.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { testGpu } from '../support/gpu.ts';
import { testIf } from '../support/needs.ts';
import { planOf } from './golden-checks.ts';
import { floatVector } from './made-file.ts';
import { nmse } from './nmse.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-scales-'));
test.after(() => rmSync(folder, { recursive: true }));

/** A model of each kind of mixer and network, with what of llama.cpp's list of scaled matrices it has. */
const MODELS: Readonly<Record<string, string>> = {
  'qwen2moe-F16': 'experts, and a shared one that is gated',
  'glm4moe-F16': 'dense layers before mixtures, biases of queries, keys and values',
  'gpt-oss-F16': 'biases of experts and of attention',
  'gemma4-moe-F16': 'a dense network next to the experts',
  'qwen3next-F16': 'a delta net',
  'qwen35-F16': 'a delta net with two matrices for its gates',
  'granite-hybrid-F16': 'a state space',
  'nemotron-h-moe-F16': 'experts without gates',
  'deepseek2-mla-F16': 'latent attention',
  'phi3-F16': 'matrices in one',
};
const found = Object.keys(MODELS).filter(hasGoldenArchitecture);
const SCALED = new RegExp(`^blk\\.(\\d+)\\.(${SCALED_MATRICES.join('|')})\\.weight$`);

/** Numbers of matrices, or of experts: halves and quarters, so that weights in F16 stay exact. */
const doublings = (layer: number, matrix: string, expert: number): number => (layer + matrix.length + expert) % 3;

/** Numbers with 2^times the value, in F16. */
function doubled(bits: number, times: number): number {
  if (times === 0) return bits;
  const low = bits & 0x7fff;
  return doubled((bits & 0x8000) | (low < 0x400 ? low * 2 : low + 0x400), times - 1);
}

/**
 * A golden model whose matrices have numbers.
 * @param balanced whether weights are multiplied with what their numbers divide them by: results are the model's own
 */
async function withNumbers(name: string, balanced: boolean): Promise<string> {
  const golden = goldenArchitecturePath(name);
  const { metadata, tensors } = withFile(golden, readGguf);
  const file = readFileSync(golden);
  const own = new Set(tensors.map((tensor) => tensor.name));
  const sources = tensors.flatMap((tensor: GgufTensor): TensorSource[] => {
    const bytes = new Uint8Array(file.subarray(tensor.offset, tensor.offset + tensor.bytes));
    const source = { name: tensor.name, shape: tensor.shape, type: tensor.type, pieces: () => [bytes] };
    const [, layer, matrix = ''] = SCALED.exec(tensor.name) ?? [];
    const isPlain = layer === undefined || tensor.type !== 'F16' || own.has(`blk.${layer}.${matrix}.scale`);
    if (isPlain) return [source];
    const experts = matrix.endsWith('_exps') ? (tensor.shape[2] as number) : 1;
    const times = Array.from({ length: experts }, (_, expert) => doublings(Number(layer), matrix, expert));
    const numbers = floatVector(
      `blk.${layer}.${matrix}.scale`,
      times.map((one) => 2 ** -one),
    );
    if (!balanced) return [source, numbers];
    const values = new Uint16Array(bytes.slice().buffer);
    const each = values.length / experts;
    const changed = values.map((bits, index) => doubled(bits, times[Math.floor(index / each)] as number));
    return [{ ...source, pieces: () => [new Uint8Array(changed.buffer)] }, numbers];
  });
  const path = join(folder, `${name}-${balanced ? 'balanced' : 'scaled'}.gguf`);
  await writeGguf(path, metadata, sources);
  return path;
}

type Implementation = 'reference' | 'native';

function logits(
  path: string,
  tokens: readonly number[],
  implementation: Implementation,
  experts?: Partial<ExpertsPolicy>,
): Float32Array {
  const kernels = openKernels({ implementation, threads: 1 });
  const options = { kernels, context: tokens.length, kvCache: 'F32', ...(experts && { experts }) } as const;
  const all = loadTransformer(path, options).evaluateAll(tokens).slice();
  kernels.close();
  return all;
}

const implementations: readonly Implementation[] = NATIVE_SETS.length > 0 ? ['reference', 'native'] : ['reference'];

for (const name of found)
  test(`numbers of matrices multiply their products: ${name}, with ${MODELS[name]}`, async () => {
    const tokens = goldenArchitecture(name).tokens.slice(0, 12);
    const balanced = await withNumbers(name, true);
    const scaled = await withNumbers(name, false);
    for (const implementation of implementations) {
      const plain = logits(goldenArchitecturePath(name), tokens, implementation);
      const error = nmse(logits(balanced, tokens, implementation), plain);
      assert.ok(error < 1e-9, `${implementation}: ${error}`);
      assert.ok(nmse(logits(scaled, tokens, implementation), plain) > 1e-4);
      // A token at a time, too, which native kernels multiply in another way.
      assert.ok(
        nmse(logits(balanced, tokens.slice(0, 1), implementation), plain.subarray(0, plain.length / tokens.length)) <
          1e-9,
      );
    }
  });

const POLICIES: readonly Partial<ExpertsPolicy>[] = [
  { slots: 4, hitsFirst: true },
  { slots: 5, pool: 'all' },
  { method: 'mmap' },
];

for (const name of ['gpt-oss-F16', 'qwen2moe-F16'].filter(hasGoldenArchitecture)) {
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', `in slots, too: ${name}`, async () => {
    const tokens = goldenArchitecture(name).tokens.slice(0, 12);
    const path = await withNumbers(name, true);
    const plain = logits(goldenArchitecturePath(name), tokens, 'native');
    for (const policy of POLICIES)
      for (const some of [tokens, tokens.slice(0, 1)]) {
        const error = nmse(
          logits(path, some, 'native', policy),
          plain.subarray(0, (plain.length / tokens.length) * some.length),
        );
        assert.ok(error < 1e-9, `${JSON.stringify(policy)}: ${error}`);
      }
  });

  testGpu(`on a GPU, too: ${name}`, async (gpu) => {
    const tokens = goldenArchitecture(name).tokens.slice(0, 24);
    const path = await withNumbers(name, true);
    const cpu = openKernels({ implementation: 'reference' });
    const model = await openSplitModel(path, { cpu, gpu, context: tokens.length, kvCache: 'F32' }).on(planOf(path, 2));
    const expected = logits(goldenArchitecturePath(name), tokens, 'reference');
    const result = await model.evaluate(tokens);
    const error = nmse(result, expected.subarray(-result.length));
    assert.ok(error < 1e-9, String(error));
  });
}

test('numbers for activations in 4 bits are read past, and those of other matrices refused by name', async () => {
  const golden = goldenArchitecturePath('qwen3moe-F16');
  const { metadata, tensors } = withFile(golden, readGguf);
  const file = readFileSync(golden);
  const given = tensors.map((tensor: GgufTensor): TensorSource => {
    const bytes = new Uint8Array(file.subarray(tensor.offset, tensor.offset + tensor.bytes));
    return { name: tensor.name, shape: tensor.shape, type: tensor.type, pieces: () => [bytes] };
  });
  const written = async (name: string): Promise<string> => {
    const path = join(folder, `${name}.gguf`);
    await writeGguf(path, metadata, [...given, floatVector(name, [0.5])]);
    return path;
  };
  const tokens = [1, 2, 3];
  const plain = logits(golden, tokens, 'reference');
  assert.equal(logits(await written('blk.0.attn_q.input_scale'), tokens, 'reference'), plain);
  const refused = await written('blk.0.ffn_gate_inp.scale');
  assert.throws(
    () => logits(refused, tokens, 'reference'),
    /tensor "blk\.0\.ffn_gate_inp\.scale": .* has no such tensor; it has/,
  );
});

test.run();
