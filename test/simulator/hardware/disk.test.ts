import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { hold } from '../../../simulator/event-loop/hold.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import type { DiskThrottle } from '../../../simulator/hardware/disk.ts';
import { createDisk } from '../../../simulator/hardware/disk.ts';
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

test('a throttled disk lets through a slice’s bytes at once, and those of the next when it begins', () => {
  const seconds = secondsOf({ sliceSeconds: 0.1, diskRate: 1000 * MB }, READS);
  // 10 MB each at 0, 0.1, 0.2, 0.3 and 0.4 s; so on; at 0.96 s the slice is used up, and 1 s begins the next.
  assert.equal(seconds, [0.41, 0.5, 0.45, 0.41, 0.004, 0.5]);
});

test('a random read goes at the disk’s random rate, throttled or not', () => {
  const simulation = createSimulation();
  assert.ok(DEVICE);
  const slow = { ...DEVICE, disk: { ...DEVICE.disk, random: 10 * MB } };
  for (const throttle of [undefined, { sliceSeconds: 0.1, diskRate: 1000 * MB }]) {
    const disk = createDisk(simulation, slow, throttle);
    const start = simulation.now;
    simulation.run(
      simulation.spawn(
        'reader',
        (function* (): Steps {
          yield disk.read(MB, 'random');
        })(),
      ),
    );
    assert.ok(Math.abs(simulation.now - start - 0.1) < 1e-9);
    assert.ok(Math.abs(disk.busySeconds() - 0.1) < 1e-9);
  }
});

test.run();
