import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { LAYER_OPERATORS, OPERATORS, type OperatorName, operatorShapes } from '../../engine/model/operators.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from '../../engine/plan/tensor-partition.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { madeFile } from '../runtime/made-file.ts';
import { nmse } from '../runtime/nmse.ts';
import { headHere, loadOnOneThread, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-chips-'));
  const shape = { layers: 4, hiddenSize: 64, ffnSize: 96, heads: 4, kvHeads: 2, headSize: 16 };
  path = await madeFile({ folder, name: 'four', shape });
});
test.after(() => rmSync(folder, { recursive: true }));

/** Half of each operator's rows, more or less, for graphs of a few tokens. */
function partitionOf(synchronisation: TensorPartition['synchronisation'], more = 0): TensorPartition {
  const loaded = loadOnOneThread(path);
  const shapes = operatorShapes(loaded.part.model);
  loaded.close();
  const cut = (name: OperatorName, npuLengths: readonly number[]): OperatorCut => ({
    npuRows: Math.ceil(shapes[name].rows / 2) + 1 + more,
    npuLengths,
  });
  const of = <Name extends OperatorName>(names: readonly Name[], lengths: readonly number[]) =>
    Object.fromEntries(names.map((name) => [name, cut(name, lengths)])) as Record<Name, OperatorCut>;
  return {
    ...{ synchronisation, graphs: 'prepared', promptTokens: 7 },
    ...{ prefill: of(LAYER_OPERATORS, [2, 4]), decode: of(OPERATORS, [1]) },
  };
}

async function logitsOf(partition: TensorPartition, prompts: readonly (readonly number[])[]): Promise<Float32Array[]> {
  const { worker, member } = await workerHere('a', path, { headKeys: undefined });
  const { head } = headHere(path, [member]);
  try {
    await head.gather();
    const partitions = new Map(['head', 'a'].map((device) => [device, partition]));
    const windows = [
      { device: 'head', from: 0, to: 1, onNpu: [0] },
      { device: 'a', from: 1, to: 4, onNpu: [2, 3] },
    ];
    await head.assemble({ windows, weights: {}, partitions, outputOnNpu: true });
    const request = requestOf(head);
    const logits: Float32Array[] = [];
    for (const tokens of prompts) logits.push((await request.evaluate(tokens)).slice());
    return logits;
  } finally {
    await head.close();
    await worker.close();
  }
}

// As long as the plan's prompt, which is more than its graphs have; one token; and three, of which a graph's are padding.
const PROMPTS = [[1, 2, 3, 4, 5, 6, 7], [8], [9, 10, 11], [12]];
for (const synchronisation of SYNCHRONISATIONS)
  test(`chips of a ring share operators with what stands for their NPUs, by ${synchronisation} synchronisation`, async () => {
    const kernels = openKernels({ threads: 1 });
    const one = loadTransformer(path, { kernels, context: SETTINGS.context, kvCache: 'F32', warn: () => {} });
    const found = await logitsOf(partitionOf(synchronisation), PROMPTS);
    for (const [index, tokens] of PROMPTS.entries()) {
      const error = nmse(found[index] as Float32Array, one.evaluate(tokens));
      assert.ok(error < 1e-9, `${index}: ${error}`);
    }
    kernels.close();
  });

test('a chip refuses a cut of more rows than an operator has', async () => {
  const error = await logitsOf(partitionOf('fast', 1000), PROMPTS).then(String, ({ message }: Error) => message);
  assert.match(error, /the plan gives the NPU \d+ rows of "qkv", which has 128$/);
});

test.run();
