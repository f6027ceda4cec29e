import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { mayJoinLayers, pageFaults, type Use } from '../../../simulator/hardware/page-faults.ts';
import { near } from '../../support/near.ts';
import { lab, MB } from './weights-lab.ts';

const LRU = { name: 'linux', readAhead: 0, overhead: 0 } as const;

/** Seconds of the computation that remain when its weights are resident, and the time of that moment. */
function used(parts: ReturnType<typeof lab>, use: Use): { left: number; now: number } {
  const { simulation, reader } = parts;
  let left = Number.NaN;
  function* compute(): Steps {
    left = yield* pageFaults(reader, use);
  }
  simulation.run(simulation.spawn('compute', compute()));
  return { left, now: simulation.now };
}

test('no process waits for readahead', () => {
  const { simulation, reader, ends } = lab({ name: 'linux', readAhead: 2 * MB, overhead: 0 });
  simulation.run(simulation.spawn('use', pageFaults(reader, { range: { from: 0, to: 4 * MB } })));
  near(simulation.now, 0.04);
  simulation.run();
  near(simulation.now, 0.06);
  assert.is(ends.length, 2);
});

test('if weights are read before the computation all of it remains, and it stalls for the disk’s time', () => {
  const parts = lab(LRU);
  const { left, now } = used(parts, { range: { from: 0, to: 30 * MB }, seconds: 0.2 });
  near(now, 0.3);
  near(left, 0.2);
  near(parts.reader.totals.stallSeconds, 0.3);
});

test('if pages are used as they arrive only the last part of the computation remains', () => {
  // Pieces of 10 MB: each takes 0.1 s of the disk, and 0.02 s of the processor.
  const parts = lab(LRU, 10 * MB, { usesPagesAsTheyCome: true });
  const { left, now } = used(parts, { range: { from: 0, to: 30 * MB }, seconds: 0.06 });
  near(now, 0.3);
  assert.ok(left < 0.021, String(left));
  near(parts.reader.totals.stallSeconds, 0.3 - (0.06 - left));
});

test('resident weights cause no delay', () => {
  const parts = lab(LRU);
  const use = { range: { from: 0, to: 30 * MB }, seconds: 0.2 };
  used(parts, use);
  const before = parts.reader.totals.stallSeconds;
  const { left, now } = used(parts, use);
  near(now, 0.3);
  near(left, 0.2);
  assert.is(parts.reader.totals.stallSeconds, before);
});

test('layers may be joined unless reclaim takes time', () => {
  const free = { submitted: Infinity, spared: Infinity, mapped: Infinity, released: Infinity };
  assert.not(mayJoinLayers(lab(LRU, Infinity, { usesPagesAsTheyCome: true }).reader));
  assert.ok(mayJoinLayers(lab(LRU, Infinity, { usesPagesAsTheyCome: true, osRates: free }).reader));
  assert.not(mayJoinLayers(lab(LRU, Infinity, { osRates: free }).reader));
});

test.run();
