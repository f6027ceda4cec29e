import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSpace, sampleNumbers } from '../../../experiments/partition-sweep/space.ts';
import { toyRing } from '../../support/toy-ring.ts';

const device = (name: string) => ({ name, cpuLayer: 1, available: 1000, reloadRate: 1 });
const ring = toyRing(8, 0, [device('a'), device('b'), { ...device('c'), gpuLayer: 0.5, gpuRoom: 25 }]);

test('8 layers in steps of 4 among three devices have 6 splits in one round and 3 in two or four, each under two policies', () => {
  const space = createSpace({
    costs: ring,
    rounds: [1, 2, 4],
    step: 4,
    gpuLevels: 1,
    outputs: ['cpu'],
    policies: ['none', 'drop'],
  });
  assert.is(space.size, 24);
  assert.equal(space.sizes, [
    { rounds: 1, size: 12 },
    { rounds: 2, size: 6 },
    { rounds: 4, size: 6 },
  ]);
});

test('numbers enumerate policies first, then windows, then rounds, and GPU layers are counted over all rounds', () => {
  const space = createSpace({
    costs: ring,
    rounds: [1, 2],
    step: 4,
    gpuLevels: 1,
    outputs: ['cpu'],
    policies: ['none', 'drop'],
  });
  assert.equal(space.at(0), { rounds: 1, output: 'cpu', policy: 'none', windows: [0, 0, 8], gpuLayers: [0, 0, 2] });
  assert.equal(space.at(1), { rounds: 1, output: 'cpu', policy: 'drop', windows: [0, 0, 8], gpuLayers: [0, 0, 2] });
  assert.equal(space.at(2), { rounds: 1, output: 'cpu', policy: 'none', windows: [0, 4, 4], gpuLayers: [0, 0, 2] });
  assert.equal(space.at(12), { rounds: 2, output: 'cpu', policy: 'none', windows: [0, 2, 2], gpuLayers: [0, 0, 1] });
  assert.throws(() => space.at(18), /no plan 18; the last of 18 is 17/);
});

test('GPU levels multiply the windows of devices with a GPU', () => {
  const space = createSpace({
    costs: ring,
    rounds: [1],
    step: 8,
    gpuLevels: 'all',
    outputs: ['cpu'],
    policies: ['none'],
  });
  // All on a, all on b, or all on c with 0, 1 or 2 on its GPU.
  assert.is(space.size, 5);
});

test('the output layer on the GPU of the head leaves less room for layers there', () => {
  const [head, ...others] = [{ ...device('a'), gpuLayer: 0.5, gpuRoom: 25 }, device('b')];
  const costs = { ...toyRing(8, 0, [head, ...others]), outputBytes: 8 };
  const space = createSpace({ costs, rounds: [1], step: 8, gpuLevels: 1, outputs: ['cpu', 'gpu'], policies: ['none'] });
  assert.equal(
    [0, 1, 2, 3].map((number) => space.at(number)),
    [
      { rounds: 1, output: 'cpu', policy: 'none', windows: [0, 8], gpuLayers: [0, 0] },
      { rounds: 1, output: 'cpu', policy: 'none', windows: [8, 0], gpuLayers: [2, 0] },
      { rounds: 1, output: 'gpu', policy: 'none', windows: [0, 8], gpuLayers: [0, 0] },
      { rounds: 1, output: 'gpu', policy: 'none', windows: [8, 0], gpuLayers: [1, 0] },
    ],
  );
});

test('a space that is too large to number is an error', () => {
  const many = toyRing(
    120,
    0,
    Array.from({ length: 40 }, (_, index) => device(`d${index}`)),
  );
  assert.throws(
    () => createSpace({ costs: many, rounds: [1], step: 1, gpuLevels: 1, outputs: ['cpu'], policies: ['none'] }),
    /^--step: the space has \d\.\de\+\d+ plans/,
  );
});

test('a small space is not sampled', () => {
  assert.equal([...sampleNumbers(5, 5, 1)], [0, 1, 2, 3, 4]);
});

test('a sample of a large space is ascending, without repetition and determined by the seed', () => {
  const drawn = [...sampleNumbers(1000, 100, 7)];
  assert.is(drawn.length, 100);
  assert.ok(drawn.every((number, at) => at === 0 || number > (drawn[at - 1] as number)));
  assert.ok((drawn[0] as number) >= 0 && (drawn.at(-1) as number) < 1000);
  assert.equal([...sampleNumbers(1000, 100, 7)], drawn);
  assert.not.equal([...sampleNumbers(1000, 100, 8)], drawn);
});

test('every number is drawn equally often in 4000 samples of ten of twenty', () => {
  const counts = new Array<number>(20).fill(0);
  for (let seed = 0; seed < 4000; seed++)
    for (const number of sampleNumbers(20, 10, seed)) counts[number] = (counts[number] as number) + 1;
  // Binomial: 2000 ± 32; five deviations.
  assert.ok(
    counts.every((count) => Math.abs(count - 2000) < 160),
    counts.join(' '),
  );
});

test('samples reach the end of a space beyond 2³²', () => {
  const drawn = sampleNumbers(2 ** 50, 1000, 1);
  assert.ok((drawn.at(-1) as number) > 0.98 * 2 ** 50);
  assert.ok(drawn.some((number) => number % 2 === 1));
});

test.run();
