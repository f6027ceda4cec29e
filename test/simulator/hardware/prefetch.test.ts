import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { pageFaults } from '../../../simulator/hardware/page-faults.ts';
import { prefetchPopulate, prefetchWillneed } from '../../../simulator/hardware/prefetch.ts';
import { near } from '../../support/near.ts';
import { lab, MB, TWO_LISTS } from './weights-lab.ts';

test('MADV_WILLNEED submits at the processor’s rate (1.65 GB/s), and the disk reads in order', () => {
  const { simulation, cache, reader, ends } = lab(TWO_LISTS);
  simulation.run(simulation.spawn('prefetch', prefetchWillneed(reader, { from: 0, to: 330 * MB })));
  near(simulation.now, 0.2);
  assert.is(cache.usage().reading, 330 * MB);
  simulation.run();
  assert.is(ends.length, 10);
  ends.forEach((end, index) => {
    near(end, 0.02 + 0.33 * (index + 1));
  });
});

test('MADV_WILLNEED waits when only the room for page faults is left, since reads in progress can’t be dropped', () => {
  const { simulation, cache, reader, ends } = lab(TWO_LISTS, 99 * MB);
  simulation.run(simulation.spawn('prefetch', prefetchWillneed(reader, { from: 0, to: 330 * MB })));
  // Of 330 MB 264 have arrived when the last can be submitted: 0.02 s for the first chunk, and 2.64 s of the disk.
  assert.ok(simulation.now >= 2.66 && simulation.now < 2.68, String(simulation.now));
  simulation.run();
  near(ends.at(-1) ?? 0, 3.32);
  assert.equal(cache.residentRanges(), [{ from: 231 * MB, to: 330 * MB }]);
});

test('pages from MADV_WILLNEED are mapped at their first use, at 11 GB/s, unlike those from page faults', () => {
  const all = { from: 0, to: 330 * MB };
  for (const [reads, mapping] of [
    ['willneed', 0.03],
    ['demand', 0],
  ] as const) {
    const { simulation, reader } = lab(TWO_LISTS);
    const left: number[] = [];
    simulation.spawn('bring and use', bringAndUse());
    simulation.run();
    left.forEach((seconds, use) => {
      near(seconds, 0.1 + (use === 0 ? mapping : 0));
    });
    assert.is(left.length, 2);

    function* bringAndUse(): Steps {
      if (reads === 'willneed') yield* prefetchWillneed(reader, all);
      else yield* pageFaults(reader, { range: all });
      yield hold(5);
      for (let use = 0; use < 2; use++) left.push(yield* pageFaults(reader, { range: all, seconds: 0.1 }));
    }
  }
});

test('MADV_POPULATE_READ reads chunk by chunk at the disk’s rate and leaves no reads in progress', () => {
  const { simulation, cache, reader, ends } = lab({ name: 'linux', readAhead: 0, overhead: 0 });
  simulation.run(simulation.spawn('prefetch', prefetchPopulate(reader, { from: 0, to: 330 * MB })));
  near(simulation.now, 3.3);
  assert.equal([ends.length, cache.usage().reading, cache.usage().resident], [10, 0, 330 * MB]);
  assert.equal([reader.totals.faultedBytes, reader.totals.prefetchedBytes], [0, 330 * MB]);
});

test('MADV_POPULATE_READ waits for reads by others', () => {
  const { simulation, reader, ends } = lab({ name: 'linux', readAhead: 0, overhead: 0 });
  simulation.spawn('fault', pageFaults(reader, { range: { from: 0, to: 30 * MB } }));
  simulation.run(simulation.spawn('prefetch', prefetchPopulate(reader, { from: 0, to: 30 * MB })));
  near(simulation.now, 0.3);
  assert.is(ends.length, 1);
});

test.run();
