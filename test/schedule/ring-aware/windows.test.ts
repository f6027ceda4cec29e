import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ringSeconds } from '../../../engine/cost/overlap.ts';
import type { DeviceCosts, RingCosts } from '../../../engine/cost/ring-costs.ts';
import { pinnedBytesOf } from '../../../engine/plan/weights-policy.ts';
import {
  type ManagedWindow,
  managedWindows,
  type Residence,
  type WindowLoad,
} from '../../../engine/schedule/ring-aware/windows.ts';
import { near } from '../../support/near.ts';
import { type ToyDevice, toyRing } from '../../support/toy-ring.ts';

/** Layers of 10 bytes and 1 s; the disk reads one in a second. */
const DEVICE: ToyDevice = { name: 'a', cpuLayer: 1, available: 0, reloadRate: 10 };
/** Four windows of 128 layers: 5120 bytes. */
const LOAD: WindowLoad = { rounds: 4, layers: 128, gpuLayers: 0, output: undefined, extentBytes: 0 };
/** 6 MiB per GiB of the 5120 bytes. */
const PAGE_TABLES = 30;

function choicesOf(
  device: Partial<ToyDevice>,
  load: Partial<WindowLoad> = {},
  change: Partial<DeviceCosts> = {},
): ManagedWindow[] {
  const ring = toyRing(512, 1, [{ ...DEVICE, ...device }]);
  return managedWindows(ring, { ...(ring.devices[0] as DeviceCosts), ...change }, { ...LOAD, ...load });
}

function the(residence: Residence, choices: readonly ManagedWindow[]): ManagedWindow {
  const found = choices.find((choice) => choice.residence === residence);
  assert.ok(found, `${residence} is not among ${choices.map((choice) => choice.residence).join(', ')}`);
  return found!;
}

function residences(choices: readonly ManagedWindow[]): Residence[] {
  return choices.map(({ residence }) => residence);
}

test('weights that fit with their page tables stay resident', () => {
  assert.equal(choicesOf({ available: 5120 + PAGE_TABLES }), [
    {
      residence: 'resident',
      device: 'a',
      layers: 128,
      gpuLayers: 0,
      policy: { prefetch: 'none', release: 'none' },
      seconds: 512,
      outputSeconds: 0,
      roundSeconds: 0,
    },
  ]);
  assert.equal(residences(choicesOf({ available: 5119 + PAGE_TABLES })), ['faulted', 'prefetched']);
});

test('if a window fits, k (S − A)/(k − 1) bytes are read while others compute and the rest is pinned', () => {
  // 4/3 (5120 − 3200) = 2560 bytes: 64 s per window, and its last layer after them
  const choices = choicesOf({ available: 3200 + PAGE_TABLES });
  const prefetched = the('prefetched', choices);
  assert.equal(prefetched.policy, { prefetch: 'populate', release: 'pinned', pinned: 2560 });
  assert.equal([prefetched.seconds, prefetched.roundSeconds], [512, 65]);
  // Without prefetching 5120 − 3200 bytes are read while the token waits.
  const faulted = the('faulted', choices);
  assert.equal(faulted.policy, { prefetch: 'none', release: 'pinned', pinned: 3200 });
  assert.is(faulted.roundSeconds, 0);
});

test('memory for exactly one window pins nothing, and with a byte less prefetching would read everything twice', () => {
  const prefetched = the('prefetched', choicesOf({ available: 1280 + PAGE_TABLES }));
  assert.equal(prefetched.policy, { prefetch: 'populate', release: 'drop' });
  assert.is(prefetched.roundSeconds, 129);
  assert.equal(residences(choicesOf({ available: 1279 + PAGE_TABLES })), ['faulted']);
});

test('with one round no reads can be hidden', () => {
  const choices = choicesOf({ available: 3200 + PAGE_TABLES }, { rounds: 1, layers: 512 });
  assert.equal(residences(choices), ['faulted']);
  near(pinnedBytesOf(choices[0]!.policy), 3200);
});

test('four extents stay free for reads in progress', () => {
  // 3200 − 240: (2960 − 1280)/(3/4) bytes are pinned
  const choices = choicesOf({ available: 3200 + PAGE_TABLES }, { extentBytes: 60 });
  near(pinnedBytesOf(the('prefetched', choices).policy), 2240);
  near(pinnedBytesOf(the('faulted', choices).policy), 2960);
});

test('layers on a GPU with its own memory take no RAM and are computed after the last layer that is read', () => {
  const gpu = { gpuLayer: 0.5, gpuRoom: 1e9 };
  // 2560 bytes in RAM; 4/3 (2560 − 1600) = 1280 bytes are read, 32 s per window; then 1 + 64 · 0.5 s
  const prefetched = the('prefetched', choicesOf({ ...gpu, available: 1600 + 15 }, { gpuLayers: 64 }));
  assert.is(prefetched.seconds, 4 * (64 + 32));
  near(prefetched.roundSeconds, 32 + 33);
});

test('layers on a GPU that shares the RAM are read like CPU layers', () => {
  const gpu = { gpuLayer: 0.5, gpuRoom: 1e9, kind: 'macos-metal' } as const;
  const prefetched = the('prefetched', choicesOf({ ...gpu, available: 3200 }, { gpuLayers: 64 }));
  near(pinnedBytesOf(prefetched.policy), 2560);
  near(prefetched.roundSeconds, 64.5);
});

test('the output layer of the head is pinned, with a prefix of every window', () => {
  // 4 windows of 960 bytes and 1280: S = 5120, A = 3140; (4 · 3140 − 5120)/3 = 2480 stay, 660 of each window are read
  const ring: RingCosts = { ...toyRing(384, 1, [{ ...DEVICE, available: 3140 + PAGE_TABLES }]), outputBytes: 1280 };
  const head: DeviceCosts = { ...(ring.devices[0] as DeviceCosts), outputOnCpuTotal: 5 };
  const choices = managedWindows(ring, head, { ...LOAD, layers: 96, output: 'cpu' });
  const prefetched = the('prefetched', choices);
  near(pinnedBytesOf(prefetched.policy), 2480);
  assert.is(prefetched.seconds, 4 * 96 + 5);
  near(prefetched.roundSeconds, 66 + 1);
  // 1980 of the windows' 3840 bytes are page faults: 198 s at the disk, which reads ahead while half the layers compute
  const faulted = the('faulted', choices);
  near(faulted.seconds, 4 * 96 + 5);
  near(faulted.outputSeconds, 5);
});

test('page faults overlap with computing except on macOS', () => {
  // 5120 − 3200 bytes of 512 s: 192 s of reading during as many of computing; at a third of the rate 384 s more
  const choices = (change: Partial<DeviceCosts>, reloadRate = 10): ManagedWindow =>
    the('faulted', choicesOf({ available: 3200 + PAGE_TABLES, reloadRate }, {}, change));
  near(choices({}).seconds, 512);
  near(choices({}, 10 / 3).seconds, 512 + 384);
  near(choices({ kind: 'macos' }).seconds, 512 + 192);
});

test('without room for buffers there is no choice', () => {
  assert.equal(choicesOf({ available: 3200 }, {}, { ramBuffers: 3201 }), []);
});

test('a limit to memory pressure caps what is pinned, after KV cache and buffers; the rest is read', () => {
  const change = { installed: 10_000, ramBuffers: 100 };
  const room = { available: 3300 + PAGE_TABLES };
  const pinned = (maxPressure: number, residence: Residence): number => {
    const { policy } = the(residence, choicesOf(room, { maxPressure }, change));
    return policy.release === 'pinned' ? policy.pinned : 0;
  };
  assert.is(pinned(1, 'prefetched'), 2560);
  assert.is(pinned(0.06, 'prefetched'), 500);
  assert.is(pinned(0.06, 'faulted'), 500);
  assert.is(pinned(0.01, 'prefetched'), 0);
  const [faulted, prefetched] = choicesOf(room, { maxPressure: 0.06 }, change);
  near(prefetched?.roundSeconds ?? 0, (5120 - 500) / 4 / 10 + 1);
  near(faulted?.seconds ?? 0, 512);
  assert.equal(choicesOf(room, { maxPressure: 0.009 }, change), []);
  // What fits may be reclaimed, and weighs nothing.
  assert.equal(residences(choicesOf({ available: 6000 }, { maxPressure: 0.06 }, change)), ['resident']);
});

test('a token takes k rounds, each as long as a round of the ring or the slowest disk', () => {
  const bounds = { rounds: 4, seconds: 45, outputSeconds: 5, roundSeconds: 0 };
  assert.is(ringSeconds(bounds), 45);
  assert.is(ringSeconds({ ...bounds, roundSeconds: 9 }), 45);
  assert.is(ringSeconds({ ...bounds, roundSeconds: 12 }), 3 * 12 + 15);
  assert.is(ringSeconds({ ...bounds, roundSeconds: 20 }), 4 * 20);
});

test.run();
