import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { campaign } from './campaign.ts';
import { TARGETS } from './target.ts';

test('defects, crashes, hangs and too much memory are named, shortened and don’t end a campaign', async () => {
  const module = join(import.meta.dirname, 'faulty-target.ts');
  const limits = { seconds: 2, bytes: 300e6 };
  // Under this seed each fault is one of the first 40 inputs, and five are refused.
  const { inputs, kinds, faults } = await campaign({
    ...{ module, seed: 190, inputs: 40, limits },
    // A busy machine takes its time.
    ...{ seconds: 300, shortening: 300 },
  });
  assert.is(inputs, 40);
  assert.equal(kinds, { read: 31, refused: 5, fault: 4 });
  const found = faults.map(({ number, fault, input, alone }) => [
    number,
    fault,
    new TextDecoder().decode(input),
    alone,
  ]);
  assert.equal(found, [
    [13, 'took more than 0.3 GB of memory', '88', true],
    [22, 'took longer than 2 s', '77', true],
    [23, 'the process ended with SIGSEGV', '66', true],
    [39, 'TypeError: a defect', '55', true],
  ]);
});

test('CI gives inputs to every target', () => {
  const runs = [...readFileSync('.ci/run', 'utf8').matchAll(/npm run fuzz --(.*)/g)];
  // All, unless some are named.
  const given = runs.flatMap(([, options = '']) => /--what (\S+)/.exec(options)?.[1]?.split(',') ?? TARGETS);
  assert.equal(given.toSorted(), [...TARGETS].sort());
});

test.run();
