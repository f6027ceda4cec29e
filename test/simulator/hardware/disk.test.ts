import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createDisk, createThrottledReads, type DiskThrottle } from '../../../simulator/hardware/disk.ts';
import { labCluster } from '../../support/lab.ts';
import { near } from '../../support/near.ts';

const [DEVICE] = labCluster({ limit: '1 GiB', disk: '100 MB/s' }).devices;
const MB = 1e6;

/** Seconds of each read after a pause. */
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

test('a throttled disk reads a slice’s bytes at once and the next ones when the next slice begins', () => {
  const seconds = secondsOf({ sliceSeconds: 0.1, diskRate: 1000 * MB }, READS);
  // 10 MB each at 0, 0.1, 0.2, 0.3 and 0.4 s; so on; at 0.96 s the slice is used up, and 1 s begins the next.
  assert.equal(seconds, [0.41, 0.5, 0.45, 0.41, 0.004, 0.5]);
});

test('a random read has the disk’s random rate, throttled or not', () => {
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

test('a slice’s bytes are read at once and the rest at the beginning of the next slices', () => {
  const reads = createThrottledReads(100 * MB, 0.1);
  near(reads.end(0, 10 * MB, 1000 * MB), 0.01);
  near(reads.end(0.01, 5 * MB, 1000 * MB), 0.105);
  near(reads.end(0.105, 25 * MB, 1000 * MB), 0.31);
});

test('reads are served in the order of their requests', () => {
  const reads = createThrottledReads(100 * MB, 0.1);
  near(reads.end(0, 40 * MB, 1000 * MB), 0.31);
  near(reads.end(0, 1 * MB, 1000 * MB), 0.401);
});

test('a pause starts a new slice, and the remainder of a slice is kept only for the next', () => {
  const reads = createThrottledReads(100 * MB, 0.1);
  near(reads.end(0, 10 * MB, 1000 * MB), 0.01);
  near(reads.end(0.09, 1 * MB, 1000 * MB), 0.101);
  near(reads.end(0.195, 19 * MB, 1000 * MB), 0.214); // 9 MB that are left of two slices, and 10 of the third
  near(reads.end(5, 20 * MB, 1000 * MB), 5.11);
});

test('a disk that is slower than its throttle determines the time', () => {
  const reads = createThrottledReads(100 * MB, 0.1);
  near(reads.end(0, 40 * MB, 50 * MB), 0.8);
});

test('the disk is busy until all requests have been read', () => {
  const reads = createThrottledReads(100 * MB, 0.1);
  reads.end(0, 15 * MB, 1000 * MB);
  near(reads.busySeconds(0.05), 0.05);
  near(reads.busySeconds(2), 0.105);
});

const asked = fc.array(
  fc.record({ pause: fc.double({ min: 0, max: 0.5, noNaN: true }), bytes: fc.integer({ min: 1, max: 50 * MB }) }),
  { minLength: 1, maxLength: 20 },
);

test('reads are at most one slice later than at the plain rate and never faster than the disk', () => {
  fc.assert(
    fc.property(asked, (steps) => {
      const reads = createThrottledReads(100 * MB, 0.1);
      let [now, plain] = [0, 0];
      for (const { pause, bytes } of steps) {
        now += pause;
        const end = reads.end(now, bytes, 1000 * MB);
        plain = Math.max(now, plain) + bytes / (100 * MB);
        assert.ok(end >= now + bytes / (1000 * MB) - 1e-9, `${bytes} bytes at ${now} s: ${end}`);
        assert.ok(end <= plain + 0.1 + 1e-9, `${bytes} bytes at ${now} s: ${end}, at the rate ${plain}`);
      }
    }),
  );
});

test.run();
