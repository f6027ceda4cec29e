import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { LAYER_OPERATORS, OPERATORS, type OperatorName, operatorShapes } from '../../engine/model/operators.ts';
import { GPU_ONLY, type OperatorCut, type TensorPartition } from '../../engine/plan/tensor-partition.ts';
import { loadPartitionedTransformer } from '../../engine/runtime/cut/partitioned-transformer.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { nmse } from './nmse.ts';

const main = openKernels({ implementation: 'reference' });
const second = openKernels({ implementation: 'reference' });
const PROMPT = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

type Cuts = (name: OperatorName, tokens: number) => OperatorCut;

function partitionOf(cuts: Cuts): TensorPartition {
  const of = <Name extends OperatorName>(names: readonly Name[], tokens: number) =>
    Object.fromEntries(names.map((name) => [name, cuts(name, tokens)])) as Record<Name, OperatorCut>;
  return {
    ...{ synchronisation: 'naive', graphs: 'prepared', promptTokens: PROMPT.length },
    prefill: of(LAYER_OPERATORS, PROMPT.length),
    decode: of(OPERATORS, 1),
  };
}

/** The largest error of a prompt and two tokens, against the model on one processor. */
async function errorOf(name: 'llama-Q8_0' | 'qwen2-F16', cuts: Cuts, other: Kernels = second): Promise<number> {
  const path = goldenModel(name);
  const whole = loadTransformer(path, { kernels: main, context: 16, kvCache: 'F32' });
  const parts = { main, second: other, partition: partitionOf(cuts), context: 16, kvCache: 'F32' } as const;
  const cut = loadPartitionedTransformer(path, parts);
  let worst = 0;
  for (const tokens of [PROMPT, [20], [21]])
    worst = Math.max(worst, nmse(await cut.evaluate(tokens), whole.evaluate(tokens)));
  cut.close();
  return worst;
}

const rowsOf = (name: 'llama-Q8_0' | 'qwen2-F16') =>
  operatorShapes(modelFromGguf(withFile(goldenModel(name), readGguf)));

/** Half of each operator's rows, which for queries, keys and values end within one of them. */
const half = (name: 'llama-Q8_0' | 'qwen2-F16', operator: OperatorName): number =>
  Math.ceil(rowsOf(name)[operator].rows / 2) + 1;

for (const name of ['llama-Q8_0', 'qwen2-F16'] as const) {
  const CUTS: Readonly<Record<string, Cuts>> = {
    'nothing on the second processor': () => GPU_ONLY,
    'everything on it': (operator, tokens) => ({ npuRows: rowsOf(name)[operator].rows, npuLengths: [tokens] }),
    'rows cut': (operator, tokens) => ({ npuRows: half(name, operator), npuLengths: [tokens] }),
    'the prompt cut': (operator, tokens) => ({
      npuRows: rowsOf(name)[operator].rows,
      npuLengths: tokens === 1 ? [1] : [8],
    }),
    'several graphs, the last one padded': (operator, tokens) => ({
      npuRows: rowsOf(name)[operator].rows,
      npuLengths: tokens === 1 ? [1] : [4, 4, 4],
    }),
    'rows and the prompt cut': (operator, tokens) => ({
      npuRows: half(name, operator),
      npuLengths: tokens === 1 ? [1] : [4, 4],
    }),
  };
  for (const [what, cuts] of Object.entries(CUTS)) {
    test(`${name}, ${what}: the logits are those of one processor`, async () => {
      const error = await errorOf(name, cuts);
      assert.ok(error < 1e-12, `${error}`);
    });
  }
}

test('any rows of any operator give the same logits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 }),
      async (shares) => {
        const cuts: Cuts = (operator, tokens) => {
          const npuRows = Math.round(
            (shares[OPERATORS.indexOf(operator)] as number) * rowsOf('llama-Q8_0')[operator].rows,
          );
          return npuRows === 0 ? GPU_ONLY : { npuRows, npuLengths: [tokens] };
        };
        assert.ok((await errorOf('llama-Q8_0', cuts)) < 1e-12);
      },
    ),
    { numRuns: 8 },
  );
});

testGpu('a CPU and a GPU share every operator of a prompt and of tokens', async (gpu) => {
  const cuts: Cuts = (operator, tokens) => ({
    npuRows: half('llama-Q8_0', operator),
    npuLengths: tokens === 1 ? [1] : [8],
  });
  const error = await errorOf('llama-Q8_0', cuts, gpu);
  assert.ok(error < 1e-9, `${error}`);
});

test('fast synchronisation, and a prompt of another length, are refused', async () => {
  const path = goldenModel('llama-Q8_0');
  const partition = partitionOf(() => GPU_ONLY);
  const parts = { main, second, context: 16 } as const;
  assert.throws(
    () => loadPartitionedTransformer(path, { ...parts, partition: { ...partition, synchronisation: 'fast' } }),
    /plan: synchronisation: fast needs memory that both processors share; allowed: naive$/,
  );
  const model = loadPartitionedTransformer(path, { ...parts, partition });
  const error = await model.evaluate([1, 2]).catch(({ message }: Error) => message);
  assert.is(error, 'plan: promptTokens: is 11; the prompt has 2 tokens');
  model.close();
});

test.run();
