import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../engine/input/input-error.ts';
import {
  extrapolation,
  heldOutError,
  type LatencySample,
  trainedRange,
} from '../../../engine/profile/predicted/latency-model.ts';
import { learnLatency } from '../../../engine/profile/predicted/learn-latency.ts';
import { sampleShapes } from '../../../engine/profile/predicted/sample-shapes.ts';
import { trainNetwork } from '../../../engine/profile/predicted/train-network.ts';
import { trainTree } from '../../../engine/profile/predicted/train-tree.ts';
import { near } from '../../support/near.ts';

/** Seconds that rise every 32 tokens: 1 s, 2 s, 3 s, 4 s. */
const staircase = (tokens: number): number => Math.ceil(tokens / 32);
const stages: LatencySample[] = Array.from({ length: 128 }, (_, index) => ({
  rows: 64,
  columns: 64,
  tokens: index + 1,
  seconds: staircase(index + 1),
}));

test('a tree trained on every other length reproduces the steps except at their edges, and a network does not', async () => {
  const seen = stages.filter(({ tokens }) => tokens % 2 === 0);
  const unseen = stages.filter(({ tokens }) => tokens % 2 === 1);
  const wrong = trainTree(seen)
    .predict(unseen)
    .filter((seconds, index) => Math.abs(seconds - (unseen[index] as LatencySample).seconds) > 1e-9);
  assert.is(wrong.length, 0);
  const network = await trainNetwork(seen, { seed: 1, epochs: 100 });
  const [before = 0, after = 0] = network.predict([
    { rows: 64, columns: 64, tokens: 64 },
    { rows: 64, columns: 64, tokens: 65 },
  ]);
  assert.ok(after - before < 0.2, `a step of ${after - before} s, where it is 1 s`);
  assert.ok(heldOutError(network, unseen).median < 0.3);
});

test('training is determined by the seed, and the better model on held-out samples is kept', async () => {
  const samples = sampleShapes(
    { rows: [256, 4096], rowAlignment: 256, columns: [64, 128], tokens: { from: 1, to: 512 } },
    80,
    7,
    'gpu',
  );
  const timed = samples.map((shape) => ({ ...shape, seconds: shape.rows * shape.columns * shape.tokens * 1e-9 }));
  const [one, other] = [
    await learnLatency(timed, { seed: 3, epochs: 40 }),
    await learnLatency(timed, { seed: 3, epochs: 40 }),
  ];
  assert.equal(one.errors, other.errors);
  assert.equal(one.models.network.predict(samples), other.models.network.predict(samples));
  assert.is(one.errors.tree.samples, 20);
  assert.is(one.samples, 60);
  // A product of powers is a plane in logarithms, which a network fits easily.
  assert.is(one.better.kind, 'network');
  assert.ok(one.errors.network.median < one.errors.tree.median);
});

test('errors are those of held-out samples: 10 % and 50 %', () => {
  const model = { kind: 'tree' as const, predict: () => [1.1, 1.5, 1] };
  const samples = [1, 2, 3].map((tokens) => ({ rows: 1, columns: 1, tokens, seconds: 1 }));
  const { median, worst } = heldOutError(model, samples);
  near(median, 0.1);
  near(worst, 0.5);
});

test('a shape is extrapolated if one of its sizes is outside the sampled range', () => {
  const range = trainedRange([
    { rows: 256, columns: 64, tokens: 1 },
    { rows: 1024, columns: 128, tokens: 32 },
  ]);
  assert.is(extrapolation({ rows: 512, columns: 100, tokens: 32 }, range), undefined);
  assert.is(extrapolation({ rows: 2048, columns: 100, tokens: 1 }, range), '2048 rows, trained on 256 to 1024');
  assert.is(extrapolation({ rows: 512, columns: 32, tokens: 1 }, range), '32 columns, trained on 64 to 128');
  assert.is(extrapolation({ rows: 512, columns: 64, tokens: 33 }, range), '33 tokens, trained on 1 to 32');
});

test('too few samples, shapes of zero, huge shapes and times of zero are refused', async () => {
  const problem = async (samples: readonly LatencySample[]): Promise<string> => {
    try {
      await learnLatency(samples, { seed: 1, epochs: 1 });
    } catch (error) {
      assert.instance(error, InputError);
      return (error as Error).message;
    }
    return 'learned';
  };
  assert.is(await problem(stages.slice(0, 19)), 'samples: 19 are too few to learn from; profile 20 shapes or more');
  const withFirst = (first: Partial<LatencySample>) => [{ ...(stages[0] as LatencySample), ...first }, ...stages];
  assert.is(
    await problem(withFirst({ rows: 0 })),
    'shape 0 × 64, 1 token: has 0 rows; each size is a whole number between 1 and 16777216',
  );
  assert.is(
    await problem(withFirst({ columns: 2 ** 25 })),
    'shape 64 × 33554432, 1 token: has 33554432 columns; each size is a whole number between 1 and 16777216',
  );
  assert.is(
    await problem(withFirst({ seconds: 0 })),
    'sample 64 × 64, 1 token: took 0 s; times must be above 0; measure it again',
  );
});

test('sampled shapes are within their space and determined by the seed', () => {
  const space = { rows: [256, 1024], rowAlignment: 256, columns: [64], tokens: { of: [1, 32] } } as const;
  const shapes = sampleShapes(space, 50, 1, 'npu');
  assert.equal(shapes, sampleShapes(space, 50, 1, 'npu'));
  assert.not.equal(shapes, sampleShapes(space, 50, 2, 'npu'));
  assert.equal(
    [...new Set(shapes.map(({ rows }) => rows))].sort((a, b) => a - b),
    [256, 512, 768, 1024],
  );
  assert.equal(
    [...new Set(shapes.map(({ tokens }) => tokens))].sort((a, b) => a - b),
    [1, 32],
  );
});

test.run();
