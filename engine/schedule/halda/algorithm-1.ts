import type { LayerSeconds } from '../../cost/layer-seconds.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { IntegerSolver } from '../integer-solver.ts';
import { divisors, type NoPlan, noPlan } from '../scheduler.ts';
import { type DeviceSet, layerWithKv, overloadSet, overloads, type VectorForm, vectorForm } from './lda.ts';
import type { HaldaOptions } from './options.ts';
import { haldaGpuRoom, haldaProgram } from './program.ts';

/** A solution of one program: w and n by device in ring order. */
export interface HaldaSolution {
  readonly rounds: number;
  readonly windows: readonly number[];
  readonly gpuLayers: readonly number[];
  /** k (aᵀw + bᵀn + eᵀc) + κ, seconds; κ is also given by itself, since it depends on the sets. */
  readonly objective: number;
  readonly kappa: number;
}

/** One pass of Algorithm 1's loop. */
export interface HaldaIteration {
  /** The devices of this pass; fewer after device selection. */
  readonly devices: readonly string[];
  /** The windows from which the sets were assigned: lines 1 and 17. */
  readonly windows: readonly number[];
  readonly gpuLayers: readonly number[];
  readonly sets: readonly DeviceSet[];
  readonly vectors: VectorForm;
  /** Every k that was tried, with its solution; undefined where the program is infeasible. */
  readonly tried: readonly { readonly rounds: number; readonly solution: HaldaSolution | undefined }[];
  /** The best solution of this and all earlier passes. */
  readonly best: HaldaSolution | undefined;
  /** The device that calibration moves into M4^force. */
  readonly forced: string | undefined;
}

export interface HaldaAssignment {
  readonly solution: HaldaSolution | undefined;
  readonly failure: NoPlan | undefined;
  readonly iterations: readonly HaldaIteration[];
}

/** Halda's Algorithm 1 (prima.cpp 3.3) for all devices of a ring; the line numbers in comments are the paper's. */
export function algorithm1(given: RingCosts, solver: IntegerSolver, options: HaldaOptions): HaldaAssignment {
  const costs = options.coefficients === 'arithmetic' ? arithmeticCosts(given) : given;
  const devices = costs.devices.map((device) => device.name);
  const iterations: HaldaIteration[] = [];
  const forced = new Set<number>();
  let windows: readonly number[] = initialWindows(costs, options); // line 1
  let gpuLayers: readonly number[] = initialGpuLayers(costs, windows, options);
  let best: HaldaSolution | undefined;
  let previousSets = '';
  for (;;) {
    const sets = assignSets(costs, { windows, gpuLayers }, forced, options); // lines 5 and 6
    const form = programForm(costs, sets, options); // line 9
    if (form.sets.join() === previousSets) break; // lines 7 and 8
    previousSets = form.sets.join();
    const tried: { rounds: number; solution: HaldaSolution | undefined }[] = [];
    let bestOfPass: HaldaSolution | undefined;
    for (const rounds of haldaRounds(costs, options)) {
      const outcome = solver.solve(haldaProgram({ ...form, costs, rounds, kvRows: options.kvCache === 'pinned' })); // line 11
      if (outcome.status === 'failed')
        return { solution: best, failure: noPlan('solver-failed', outcome.reason), iterations };
      const solution = outcome.status === 'optimal' ? readSolution(costs, form, rounds, outcome.values) : undefined;
      tried.push({ rounds, solution });
      if (solution !== undefined && isBetter(solution, bestOfPass, options)) bestOfPass = solution;
    }
    if (bestOfPass !== undefined && (options.comparison === 'last' || isBetter(bestOfPass, best, options)))
      best = bestOfPass; // line 12
    const feasible = tried.some(({ solution }) => solution !== undefined);
    const move = deviceToForce({ costs, sets, form, best: feasible ? best : undefined, options }); // lines 13 and 14
    iterations.push({
      devices,
      windows,
      gpuLayers,
      sets,
      vectors: form.vectors,
      tried,
      best,
      forced: move === undefined ? undefined : devices[move],
    });
    if (!feasible && move === undefined) break;
    if (move !== undefined) forced.add(move);
    if (move !== undefined && options.calibration === 'skips-update') continue; // line 15
    if (best !== undefined) ({ windows, gpuLayers } = best); // line 17
  }
  return { solution: best, failure: undefined, iterations };
}

/**
 * Line 3: the divisors k of L, without L itself unless it is 1, for which every device can have a layer; of them the one
 * that the options ask for.
 */
function haldaRounds({ layers, devices }: RingCosts, { rounds: forced }: HaldaOptions): number[] {
  return divisors(layers).filter(
    (rounds) =>
      (forced === undefined || rounds === forced) &&
      (rounds === 1 || rounds < layers) &&
      layers / rounds >= devices.length,
  );
}

/** Line 1: windows in proportion to the memory budgets of footnote 6; they add up to about L. */
function initialWindows({ devices, layers }: RingCosts, { initialRounding }: HaldaOptions): number[] {
  const memory = devices.map((device) => device.available);
  const total = sum(memory);
  const least = initialRounding === 'nearest' ? 0 : 1;
  const windows = memory.map((available) => Math.max(least, Math.round((layers * available) / total)));
  if (initialRounding !== 'adds-up') return windows;
  const missing = layers - sum(windows);
  const extreme = memory.indexOf(missing > 0 ? Math.max(...memory) : Math.min(...memory));
  return windows.map((window, index) => (index === extreme ? Math.max(least, window + missing) : window));
}

/** Line 1: n, by device. */
function initialGpuLayers(
  { devices }: RingCosts,
  windows: readonly number[],
  { initialGpuLayers }: HaldaOptions,
): number[] {
  const onGpu = (index: number): boolean => initialGpuLayers === 'windows' && devices[index]?.gpu !== undefined;
  return windows.map((window, index) => (onGpu(index) ? window : 0));
}

/** The coefficients without memory reads, copies to a GPU and the network. */
function arithmeticCosts(costs: RingCosts): RingCosts {
  const layer = ({ compute, kvCopy }: LayerSeconds): number => compute + kvCopy;
  return {
    ...costs,
    devices: costs.devices.map((device) => ({
      ...device,
      cpuLayer: layer(device.cpu),
      gpuLayer: device.gpu === undefined ? Number.POSITIVE_INFINITY : layer(device.gpu),
      outputOnCpu: { ...device.outputOnCpu, memory: 0 },
      windowCopy: 0,
    })),
    hop: () => 0,
    uniformHop: 0,
  };
}

interface Windows {
  readonly windows: readonly number[];
  readonly gpuLayers: readonly number[];
}

/** The sets M1–M4 by the cases of Appendix A.3, at k = L / W. */
function assignSets(
  costs: RingCosts,
  at: Windows,
  forced: ReadonlySet<number>,
  { slowDisk }: HaldaOptions,
): DeviceSet[] {
  const rounds = costs.layers / Math.max(1, sum(at.windows));
  return costs.devices.map((device, index) => {
    const layers = rounds * (at.windows[index] as number);
    const onGpu = rounds * (at.gpuLayers[index] as number);
    const mayOverload = !forced.has(index) && device.reloadRate > slowDisk;
    return mayOverload && overloads(costs, index, layers, onGpu) ? overloadSet(device) : 'M4';
  });
}

interface ProgramForm {
  /** The sets that the program is for; with the same sets another pass would give the same program. */
  readonly sets: readonly DeviceSet[];
  readonly vectors: VectorForm;
  readonly soft: ReadonlySet<number>;
  readonly overloadRows: boolean;
}

/** The vectors for the sets. With overflow variables all devices except those with Metal are in a soft M4. */
function programForm(costs: RingCosts, sets: readonly DeviceSet[], options: HaldaOptions): ProgramForm {
  const formOf = (ofSets: readonly DeviceSet[]): VectorForm => preferHead(vectorForm(costs, ofSets), options);
  if (options.overloadRows === 'strict') return { sets, vectors: formOf(sets), soft: new Set(), overloadRows: true };
  const soft = new Set(costs.devices.flatMap((device, index) => (overloadSet(device) === 'M2' ? [] : [index])));
  const hardSets = sets.map((set, index): DeviceSet => (soft.has(index) ? 'M4' : set));
  return { sets: hardSets, vectors: formOf(hardSets), soft, overloadRows: false };
}

/** The vectors with the head's cost per layer divided by its priority. */
function preferHead(vectors: VectorForm, { headPriority }: HaldaOptions): VectorForm {
  if (headPriority === 1) return vectors;
  return { ...vectors, a: vectors.a.map((a, index) => (index === 0 ? a / headPriority : a)) };
}

function readSolution(
  costs: RingCosts,
  { vectors, soft }: ProgramForm,
  rounds: number,
  values: Float64Array,
): HaldaSolution {
  const count = costs.devices.length;
  const windows = Array.from(values.subarray(0, count));
  const gpuLayers = Array.from(values.subarray(count, 2 * count));
  const total = costs.layers / rounds;
  let seconds = vectors.kappa;
  for (let index = 0; index < count; index++) {
    const [window, onGpu] = [windows[index] as number, gpuLayers[index] as number];
    const { a, b, c } = vectors;
    seconds += rounds * ((a[index] as number) * window + (b[index] as number) * onGpu + (c[index] as number));
  }
  vectors.rows.forEach((device, row) => {
    if (!soft.has(device) || vectors.pw[row] === 0) return;
    const held = (windows[device] as number) + (vectors.pn[row] as number) * (gpuLayers[device] as number);
    const beyond = Math.max(0, held + total * (vectors.z[row] as number));
    seconds += (rounds * beyond * layerWithKv(costs)) / (costs.devices[device] as DeviceCosts).reloadRate;
  });
  return { rounds, windows, gpuLayers, objective: seconds, kappa: vectors.kappa };
}

function isBetter(solution: HaldaSolution, best: HaldaSolution | undefined, { comparison }: HaldaOptions): boolean {
  if (best === undefined) return true;
  if (comparison === 'without-kappa') return solution.objective - solution.kappa < best.objective - best.kappa;
  return solution.objective < best.objective;
}

interface Calibration {
  readonly costs: RingCosts;
  readonly sets: readonly DeviceSet[];
  readonly form: ProgramForm;
  /** undefined where no k had a solution. */
  readonly best: HaldaSolution | undefined;
  readonly options: HaldaOptions;
}

/**
 * Calibration: the device to move into M4^force, if a GPU has room left while another device is overloaded (its VRAM is
 * full and layers are on its CPU, or its RAM is exceeded). Of the devices that the program keeps overloaded it is the
 * one with the slowest disk.
 */
function deviceToForce({ costs, sets, form, best, options }: Calibration): number | undefined {
  if (best === undefined ? options.infeasible === 'stop' : !wastesGpu({ costs, sets, form, best, options }))
    return undefined;
  const overloaded = sets.flatMap((set, index) => (set === 'M4' || form.soft.has(index) ? [] : [index]));
  const rate = (index: number): number => (costs.devices[index] as DeviceCosts).reloadRate;
  return overloaded.sort((one, other) => rate(one) - rate(other))[0];
}

function wastesGpu({ costs, sets, form, best, options }: Calibration & { readonly best: HaldaSolution }): boolean {
  const { vectors } = form;
  const { rounds, windows, gpuLayers } = best;
  const { overloadedDevice, waitsForRemoval } = options;
  const indices = costs.devices.map((_, index) => index);
  const room = (index: number): number => haldaGpuRoom(costs, vectors, index, rounds);
  const hasFreeGpu = (index: number): boolean => room(index) > (gpuLayers[index] as number);
  if (waitsForRemoval && windows.some((window, index) => window === 1 && gpuLayers[index] === 0)) return false;
  const isOverloaded = (index: number): boolean => {
    const [window, onGpu] = [windows[index] as number, gpuLayers[index] as number];
    if (overloadedDevice === 'full-gpu' || overloadedDevice === 'spilling-gpu') {
      const { kind, gpu } = costs.devices[index] as DeviceCosts;
      if (gpu === undefined || kind === 'macos') return sets[index] !== 'M4';
      return window > onGpu && (overloadedDevice === 'spilling-gpu' || !hasFreeGpu(index));
    }
    const spills = room(index) > 0 && !hasFreeGpu(index) && window > onGpu;
    return spills || overloads(costs, index, rounds * window, rounds * onGpu);
  };
  const counts = (free: number, other: number): boolean => overloadedDevice !== 'another' || other !== free;
  return indices.some(
    (free) => hasFreeGpu(free) && indices.some((other) => counts(free, other) && isOverloaded(other)),
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
