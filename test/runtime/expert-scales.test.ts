import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import type { GgufTensor } from '../../engine/gguf/gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load-transformer.ts';
import { openSplitModel } from '../../engine/runtime/split-transformer.ts';
import { goldenArchitecture, goldenArchitecturePath } from '../support/golden-architectures.ts';
import { testGpu } from '../support/gpu.ts';
import { planOf } from './golden-checks.ts';
import { floatVector } from './made-file.ts';
import { nmse } from './nmse.ts';

const NAME = 'qwen3moe-F16';
const DOWN = /^blk\.(\d+)\.ffn_down_exps\.weight$/;
const folder = mkdtempSync(join(tmpdir(), 'hearth-scales-'));
test.after(() => rmSync(folder, { recursive: true }));
const tokens = goldenArchitecture(NAME).tokens.slice(0, 24);

/** Numbers of experts: powers of two, so that weights in F16 stay exact. */
const factorOf = (layer: number, expert: number): number => 2 ** ((layer + 3 * expert) % 5);

/** The model with other tensors in place of the experts' last matrices, or besides. */
async function changed(name: string, change: (tensor: TensorSource, shape: readonly number[]) => TensorSource[]) {
  const golden = goldenArchitecturePath(NAME);
  const { metadata, tensors } = withFile(golden, readGguf);
  const file = readFileSync(golden);
  const sources = tensors.flatMap((tensor: GgufTensor): TensorSource[] => {
    const bytes = new Uint8Array(file.subarray(tensor.offset, tensor.offset + tensor.bytes));
    const source = { name: tensor.name, shape: tensor.shape, type: tensor.type, pieces: () => [bytes] };
    return DOWN.test(tensor.name) ? change(source, tensor.shape) : [source];
  });
  const path = join(folder, `${name}.gguf`);
  await writeGguf(path, metadata, sources);
  return path;
}

const layerOf = ({ name }: TensorSource): number => Number(DOWN.exec(name)?.[1]);

const scaled = (suffix: string) => (tensor: TensorSource, shape: readonly number[]) => [
  tensor,
  floatVector(
    `blk.${layerOf(tensor)}.${suffix}`,
    Array.from({ length: shape[2] as number }, (_, expert) => factorOf(layerOf(tensor), expert)),
  ),
];

/** Numbers with another exponent, in F16; those without a leading one are so near to 0 that they may stay. */
function multiplied(tensor: TensorSource, shape: readonly number[]): TensorSource[] {
  const [bytes] = [...(tensor.pieces() as Iterable<Uint8Array>)];
  const values = new Uint16Array((bytes as Uint8Array).slice().buffer);
  const each = values.length / (shape[2] as number);
  const changed = values.map((bits, index) => {
    const power = Math.log2(factorOf(layerOf(tensor), Math.floor(index / each)));
    return (bits & 0x7c00) === 0 ? bits : bits + 1024 * power;
  });
  return [{ ...tensor, pieces: () => [new Uint8Array(changed.buffer)] }];
}

function logits(path: string, implementation: 'native' | 'reference'): Float32Array {
  const kernels = openKernels({ implementation, threads: 1 });
  const found = loadTransformer(path, { kernels, context: tokens.length, kvCache: 'F32' }).evaluateAll(tokens).slice();
  kernels.close();
  return found;
}

test("numbers of experts multiply their results: as if they multiplied their last matrix's weights", async () => {
  const [plain, one, other] = [
    goldenArchitecturePath(NAME),
    await changed('scaled', scaled('ffn_down_exps.scale')),
    await changed('multiplied', multiplied),
  ];
  for (const implementation of ['reference', 'native'] as const) {
    const found = logits(one, implementation);
    assert.ok(nmse(found, logits(plain, implementation)) > 1e-4);
    const error = nmse(found, logits(other, implementation));
    assert.ok(error < 1e-10, `${implementation}: ${error}`);
  }
});

testGpu('on a GPU, too', async (gpu) => {
  const path = await changed('on-gpu', scaled('ffn_down_exps.scale'));
  const cpu = openKernels({ implementation: 'reference' });
  const model = await openSplitModel(path, { cpu, gpu, context: tokens.length, kvCache: 'F32' }).on(planOf(path, 2));
  const expected = logits(path, 'reference');
  const found = await model.evaluate(tokens);
  const error = nmse(found, expected.subarray(-found.length));
  assert.ok(error < 1e-9, String(error));
});

test('numbers of the other matrices of experts are refused by name', async () => {
  const path = await changed('gate', scaled('ffn_gate_exps.scale'));
  assert.throws(
    () => logits(path, 'reference'),
    /tensor "blk\.\d+\.ffn_gate_exps\.scale": .* has no such tensor; it has/,
  );
});

test.run();
