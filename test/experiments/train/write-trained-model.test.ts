import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { namedTensors } from '../../../engine/gguf/tensor-names.ts';
import { writeGguf } from '../../../engine/gguf/write-gguf.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { loadTransformer } from '../../../engine/runtime/load/load-transformer.ts';
import { PREPARED } from '../../../experiments/train/prepared.ts';
import { tokenizerMetadata, VOCABULARY_SIZE } from '../../../experiments/train/tokenizer.ts';
import { writeTrainedModel } from '../../../experiments/train/write-trained-model.ts';
import { testIf } from '../../support/needs.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-trained-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const TINY = { layers: 2, hidden: 32, heads: 2, kv_heads: 1, head: 16, ffn: 64 };
const TOKENS = [1020, 3, 500, 77, 78, 500, 77, 12];

/** Weights that a formula gives: waves of other phases in every tensor. */
function waves(index: number, count: number, mean: number): Float32Array {
  return Float32Array.from({ length: count }, (_, at) => mean + 0.3 * Math.sin(index + 0.37 * at + 0.011 * (at % 29)));
}

function writeSafetensors(): string {
  const tensors = namedTensors(
    uniformShape({
      ...{ name: 'tiny', architecture: 'llama', layers: TINY.layers, hiddenSize: TINY.hidden, ffnSize: TINY.ffn },
      ...{ heads: TINY.heads, kvHeads: TINY.kv_heads, headSize: TINY.head, vocabularySize: VOCABULARY_SIZE },
      ...{ tiedEmbeddings: true, qkvBias: false },
    }),
  );
  const data = tensors.map(({ rows, columns }, index) => waves(index, rows * columns, rows === 1 ? 1 : 0));
  let offset = 0;
  const entries = tensors.map(({ name, shape }, index) => {
    const begin = offset;
    offset += (data[index] as Float32Array).byteLength;
    return [name, { dtype: 'F32', shape: shape.toReversed(), data_offsets: [begin, offset] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const path = join(folder, 'tiny.safetensors');
  writeFileSync(path, Buffer.concat([length, header, ...data.map(({ buffer }) => new Uint8Array(buffer))]));
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify(TINY));
  return path;
}

const weights = writeSafetensors();
await writeGguf(join(folder, PREPARED.tokenizer), new Map(tokenizerMetadata(1)), []);

/** Logits of every 128th token, by train.py's network in PyTorch 1.13. */
const EXPECTED: readonly number[] = [
  -1.394419, -0.641698, 1.267522, 0.925323, -0.37169, -1.256525, -0.571926, 1.260689,
];

const every128th = (logits: ArrayLike<number>): number[] => Array.from(logits).filter((_, token) => token % 128 === 0);

function near(found: readonly number[], expected: readonly number[], most: number): void {
  assert.is(found.length, expected.length);
  for (const [index, value] of found.entries())
    assert.ok(Math.abs(value - (expected[index] as number)) < most, `${found} instead of ${expected}`);
}

test('a trained network computes in the engine what it computes in PyTorch', async () => {
  const path = join(folder, 'tiny.gguf');
  await writeTrainedModel(weights, path, 'F32');
  const kernels = openKernels({ implementation: 'reference' });
  try {
    const model = loadTransformer(path, { kernels, kvCache: 'F32' });
    near(every128th(model.evaluate(TOKENS)), EXPECTED, 1e-4);
  } finally {
    kernels.close();
  }
});

test('a tensor that is missing is named', async () => {
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify({ ...TINY, layers: 3 }));
  let message = '';
  await writeTrainedModel(weights, join(folder, 'other.gguf'), 'F32').catch((error: Error) => {
    message = error.message;
  });
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify(TINY));
  assert.match(message, /blk\.2\.attn_norm\.weight has no values; tiny\.json says 1 × 32/);
});

const python = ['/usr/bin/python3', 'python3'].find(
  (name) => spawnSync(name, ['-c', 'import torch, numpy'], { stdio: 'ignore' }).status === 0,
);

testIf(python !== undefined, 'PyTorch is not installed', 'the network of train.py still has these logits', () => {
  const script = 'test/experiments/train/torch-logits.py';
  const path = weights.replace('.safetensors', '');
  const env = { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' };
  const run = spawnSync(python as string, ['-B', script, path, TOKENS.join(',')], { encoding: 'utf8', env });
  near(every128th(JSON.parse(run.stdout)), EXPECTED, 1e-5);
});

const anyPython = spawnSync('python3', ['--version']).status === 0;

testIf(anyPython, 'Python is not installed', 'without PyTorch train.py says in one line what to install', () => {
  // -I and -S: without packages.
  const run = spawnSync('python3', ['-I', '-S', '-B', 'experiments/train/train.py', '--help'], { encoding: 'utf8' });
  assert.is(run.status, 1);
  assert.match(
    run.stderr,
    /^\S+: lacks (numpy|torch); install Debian's python3-torch, and run \/usr\/bin\/python3 \S+train\.py\n$/,
  );
});

test.run();
