import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createDisk, type DiskThrottle } from '../../../simulator/hardware/disk.ts';
import type { Steps } from '../../../simulator/kernel/effect.ts';
import { hold } from '../../../simulator/kernel/hold.ts';
import { createSimulation } from '../../../simulator/kernel/simulation.ts';
import { labCluster } from '../../support/lab.ts';

const [DEVICE] = labCluster({ limit: '1 GiB', disk: '100 MB/s' }).devices;
const MB = 1e6;

/** Seconds that each read takes, after a pause. */
function secondsOf(throttle: DiskThrottle | undefined, reads: readonly { pause: number; bytes: number }[]): number[] {
  const simulation = createSimulation();
  assert.ok(DEVICE);
  const disk = createDisk(simulation, DEVICE, throttle);
  const seconds: number[] = [];
  function* reader(): Steps {
    for (const { pause, bytes } of reads) {
      yield hold(pause);
      const start = simulation.now;
      yield disk.read(bytes, 'sequential');
      seconds.push(Math.round(1e9 * (simulation.now - start)) / 1e9);
    }
  }
  simulation.run(simulation.spawn('reader', reader()));
  return seconds;
}

const READS = [
  { pause: 0, bytes: 50 * MB },
  { pause: 0, bytes: 50 * MB },
  { pause: 0.05, bytes: 50 * MB },
  { pause: 9, bytes: 50 * MB },
  { pause: 9, bytes: 4 * MB },
  { pause: 0, bytes: 50 * MB },
];

test('a disk reads at its rate', () => {
  assert.equal(secondsOf(undefined, READS), [0.5, 0.5, 0.5, 0.5, 0.04, 0.5]);
});

test('a throttled disk lets through what it has saved in a pause, up to a tenth of a second of its rate', () => {
  // 10 MB at first; nothing without a pause; 5 MB after half of one; 10 MB, of which 4 and then 6 are used: at 1 GB/s.
  const seconds = secondsOf({ burstSeconds: 0.1, diskRate: 1000 * MB }, READS);
  assert.equal(seconds, [0.41, 0.5, 0.455, 0.41, 0.004, 0.446]);
});

test.run();
