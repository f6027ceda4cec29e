import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gpuLayerRoom } from '../../../engine/cost/memory.ts';
import { ringSeconds } from '../../../engine/cost/overlap.ts';
import { createRingCosts, type DeviceCosts } from '../../../engine/cost/ring-costs.ts';
import { type AssignmentProblem, assignWindows } from '../../../engine/schedule/ring-aware/assign.ts';
import { type ManagedWindow, managedWindows } from '../../../engine/schedule/ring-aware/windows.ts';
import { divisors } from '../../../engine/schedule/scheduler.ts';
import { relativelyNear } from '../../support/near.ts';
import { randomRings } from '../../support/random-ring.ts';
import { toyRing } from '../../support/toy-ring.ts';

/** A window with its device's index in the ring. */
interface Member extends ManagedWindow {
  readonly place: number;
}

/** The least time over all assignments; infinite if there is none. */
function bruteForce(problem: AssignmentProblem): number {
  const { costs, rounds } = problem;
  let least = Number.POSITIVE_INFINITY;
  for (const members of everyRing(problem, 0, costs.layers / rounds)) {
    const [head, ...others] = members.filter(({ place, layers }) => place === 0 || layers > 0) as [Member, ...Member[]];
    const holders = members.filter(({ layers }) => layers > 0);
    if (rounds > 1 && holders.length === 1) continue;
    const ring = [head, ...others];
    const hops = ring.map(({ place }, index) => costs.hop(place, (ring[index + 1] ?? head).place));
    const seconds = ringSeconds({
      rounds,
      seconds: sum(ring.map((member) => member.seconds)) + rounds * sum(hops),
      outputSeconds: head.outputSeconds,
      roundSeconds: Math.max(...ring.map((member) => member.roundSeconds)),
    });
    least = Math.min(least, seconds);
  }
  return least;
}

/**
 * Every assignment of `layers` layers to the devices from `device` on, with every split of each window and every way to
 * hold it.
 */
function* everyRing(problem: AssignmentProblem, device: number, layers: number): Generator<Member[]> {
  const { costs, rounds, extentBytes } = problem;
  const found = costs.devices[device];
  if (found === undefined) {
    if (layers === 0) yield [];
    return;
  }
  const output = device === 0 ? problem.output : undefined;
  if (output === 'gpu' && costs.outputBytes > found.gpuRoom) return;
  const room = gpuLayerRoom(costs, found, output, rounds);
  for (let own = 0; own <= layers; own++) {
    const members: Member[] = [];
    for (let gpuLayers = 0; gpuLayers <= Math.min(own, room); gpuLayers++) {
      const load = { rounds, layers: own, gpuLayers, output, extentBytes };
      members.push(...managedWindows(costs, found, load).map((window) => ({ ...window, place: device })));
    }
    for (const rest of everyRing(problem, device + 1, layers - own)) {
      for (const member of members) yield [member, ...rest];
    }
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Page tables of 240 bytes of weights. */
const PAGE_TABLES = 240 * (6 / 1024);

test('with two rounds one device reads while the other computes', () => {
  // Layers of 10 bytes, 1 s, read in 2 s. Each device has room for 20 of its 24 layers; with more it pays more page tables.
  const device = { cpuLayer: 1, available: 200 + PAGE_TABLES, reloadRate: 5 };
  const ring = [
    { ...device, name: 'a' },
    { ...device, name: 'b' },
  ];
  const solve = (rounds: number) =>
    assignWindows({ costs: toyRing(48, 0.25, ring), rounds, output: 'cpu', extentBytes: 0 })!;
  // One round: 8 layers are read while the token waits, each computed while the next is read.
  relativelyNear(solve(1).seconds, 48 + 2 * 0.25 + 8 * (2 - 1));
  // Two: 2 (24 − 20) layers are read, 8 s a round, while a round takes 24.5 s.
  relativelyNear(solve(2).seconds, 48 + 2 * 2 * 0.25);
});

test('a slow disk gets as few layers as it can read within a round', () => {
  // a is slower and holds all its layers; b has room for 20 layers and reads one in 8 s. With windows of w layers a
  // token takes 2 (2 (24 − w) + w + 0.5) s and b's disk 2 (2 w − 20) 8 + 2 s: 73 and 66 s at 12, 71 and 98 s at 13.
  const costs = toyRing(48, 0.25, [
    { name: 'a', cpuLayer: 2, available: 1000, reloadRate: 5 },
    { name: 'b', cpuLayer: 1, available: 200 + PAGE_TABLES, reloadRate: 1.25 },
  ]);
  const { windows, seconds } = assignWindows({ costs, rounds: 2, output: 'cpu', extentBytes: 0 })!;
  const found = windows.map(({ layers, residence }) => [layers, residence]);
  assert.equal(found, [
    [12, 'resident'],
    [12, 'prefetched'],
  ]);
  relativelyNear(seconds, 73);
});

/** Counts of the kinds of windows in the best assignments. */
type Tally = Map<string, number>;

function checkAgainstBruteForce(problem: AssignmentProblem, tally: Tally): void {
  const count = (what: string): unknown => tally.set(what, (tally.get(what) ?? 0) + 1);
  const assignment = assignWindows(problem);
  relativelyNear(assignment?.seconds ?? Number.POSITIVE_INFINITY, bruteForce(problem));
  if (assignment === undefined) count('none');
  for (const residence of new Set(assignment?.windows.map((window) => window.residence))) count(residence);
  const prefetching = assignment?.windows.filter((window) => window.residence === 'prefetched') ?? [];
  if (assignment?.windows[0]?.residence === 'prefetched') count('the head prefetches');
  if (prefetching.length > 1) count('several prefetch');
}

function atLeast(tally: Tally, least: number, names: readonly string[]): void {
  for (const name of names) assert.ok((tally.get(name) ?? 0) >= least, `${name}: ${tally.get(name)}`);
}

test('the assignment equals brute force over windows, GPU layers and kinds of residency', () => {
  const tally: Tally = new Map();
  const property = fc.property(randomRings(), fc.constantFrom(0, 5000), ({ problem }, extentBytes) => {
    const costs = createRingCosts(problem.belief, problem.model, problem.workload, problem.runtime);
    const outputs = costs.devices[0]?.gpu === undefined ? (['cpu'] as const) : (['cpu', 'gpu'] as const);
    for (const rounds of divisors(costs.layers)) {
      for (const output of outputs) checkAgainstBruteForce({ costs, rounds, output, extentBytes }, tally);
    }
  });
  fc.assert(property, { numRuns: 400, seed: 51 });
  atLeast(tally, 100, ['resident', 'faulted', 'none']);
});

test('the assignment equals brute force with little memory and disks about as fast as processors', () => {
  const tally: Tally = new Map();
  const device = fc.record({
    name: fc.constant('any'),
    cpuLayer: fc.double({ min: 0.5, max: 2, noNaN: true }),
    gpuLayer: fc.constantFrom(0.2, 3),
    gpuRoom: fc.constantFrom(0, 0, 20),
    available: fc.integer({ min: 10, max: 60 }),
    reloadRate: fc.double({ min: 2, max: 20, noNaN: true }),
    kind: fc.constantFrom('linux' as const, 'linux' as const, 'macos-metal' as const),
  });
  const head = fc.record({ outputBytes: fc.constantFrom(0, 6, 15), outputOnCpuTotal: fc.constantFrom(0, 1) });
  const property = fc.property(
    fc.array(device, { minLength: 2, maxLength: 3 }),
    head,
    fc.constantFrom(8, 12),
    fc.constantFrom(0, 0.5),
    (devices, { outputBytes, outputOnCpuTotal }, layers, extentBytes) => {
      const ring = toyRing(layers, 0.1, devices);
      const [first, ...others] = ring.devices as [DeviceCosts, ...DeviceCosts[]];
      const costs = { ...ring, outputBytes, devices: [{ ...first, outputOnCpuTotal }, ...others] };
      for (const rounds of divisors(layers)) {
        checkAgainstBruteForce({ costs, rounds, output: 'cpu', extentBytes }, tally);
      }
    },
  );
  fc.assert(property, { numRuns: 300, seed: 52 });
  atLeast(tally, 100, ['resident', 'prefetched', 'faulted', 'the head prefetches', 'several prefetch']);
});

test.run();
