import type { ExpertsFinding, ExpertsMachine, FindingSetting } from '../../datasets/experts.ts';
import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { drawRouting, zipfPopularity } from '../../engine/experts/draw-routing.ts';
import { EVICTIONS, type EvictionName } from '../../engine/experts/evictions.ts';
import { readSeconds } from '../../engine/hardware/disk-reads.ts';
import { InputError, suggestion } from '../../engine/input/input-error.ts';
import { BANDWIDTH_SHARE, caseOf, slotsOf, usedOf } from './case.ts';
import { fittedSlots, hitRate, hitRateOfSlots, pinnedRate, usedShare } from './replays.ts';
import type { Routings } from './routings.ts';
import type { Simulations } from './simulations.ts';

/** Tokens of routings that only run through caches, half of them to fill them. */
const REPLAYED = 256;
/** Tokens of the texts of which findings 21, 23 and 25 speak. */
const COLD_TOKENS = { 'qwen3.8-flash': 300, 'qwen3.5-122b': 180 } as Readonly<Record<string, number>>;
const DISTINCT_TOKENS = 1300;
/** Tokens whose misses are timed by the disk alone. */
const DISK_TOKENS = 64;
/** Gemma's layers (facts of recorded routings). */
const SLOPES = [0.42, 1.18] as const;
/** The routing by which one engine chose its sizes: a popularity of rank^−1.2, and seven of ten experts from the token before. */
const MADE = { slope: 1.2, recurrence: { previous: 0.7, recent: 0, window: 1 } };

/** Routings and simulations by which values are computed. */
export interface Tools {
  readonly routings: Routings;
  readonly simulations: Simulations;
}

/** The simulated value of each setting of a finding, in its unit. */
export function simulatedValues(finding: ExpertsFinding, tools: Tools): number[] {
  const { settings, unit } = finding;
  const values = settings.map((setting, index) => settingValue(finding, setting, index, tools));
  return unit === 'relative' ? values.map((value) => value / (values[0] as number)) : values;
}

function settingValue(finding: ExpertsFinding, setting: FindingSetting, index: number, tools: Tools): number {
  const { routings, simulations } = tools;
  const simulated = () => simulations(caseOf(machineOf(setting), setting), model);
  const { model } = setting;
  const used = usedOf(setting);
  const drawn = (tokens: number) => routings({ model, used, tokens });
  const cold = () => drawn(2 * (COLD_TOKENS[model.key] ?? REPLAYED));
  switch (finding.kind) {
    case 'speed':
      return 1 / simulated().tokenSeconds;
    case 'hits':
      return simulated().hitRate;
    case 'bytes':
      return simulated().readBytes;
    case 'replay':
      return hitRate(drawn(REPLAYED), slotsOf(setting), evictionOf(setting), REPLAYED >> 1);
    case 'cold': {
      const routing = drawn(COLD_TOKENS[model.key] ?? REPLAYED);
      return hitRate(routing, slotsOf(setting), evictionOf(setting), 0);
    }
    case 'half-pinned': {
      if (setting.eviction === 'half-pinned') {
        const slots = slotsOf(setting);
        return pinnedRate(cold(), slots, slots.slots >> 1);
      }
      const routing = drawn(COLD_TOKENS[model.key] ?? REPLAYED);
      return hitRate(routing, slotsOf(setting), evictionOf(setting), 0);
    }
    case 'distinct': {
      const routing = drawn(DISTINCT_TOKENS);
      return index === 0 ? usedShare(routing) : hitRate(routing, slotsOf(setting), 'lru', DISTINCT_TOKENS >> 1);
    }
    case 'belady':
      return hitRate(drawn(REPLAYED), slotsOf(setting), 'belady', REPLAYED >> 1);
    case 'synthetic': {
      const key = index === 0 ? { ...model, ...MADE, key: `${model.key} made` } : model;
      return hitRate(routings({ model: key, used, tokens: REPLAYED }), slotsOf(setting), 'lru', REPLAYED >> 1);
    }
    case 'allocation': {
      const { slots } = slotsOf(setting);
      const [known, other] = [textOf(setting, 1), textOf(setting, 2)];
      return hitRateOfSlots(
        other,
        index === 0 ? new Array<number>(model.layers).fill(slots) : fittedSlots(known, slots),
      );
    }
    case 'gpu-cache':
      return 1 / gpuCacheSeconds(machineOf(setting), setting, routings);
    case 'token-bytes':
      return (model.layers * used * model.expertBytes) / (finding.unit === 'MiB' ? 2 ** 20 : 1e6);
    case 'break-even':
      return breakEven(machineOf(setting), setting, simulations);
    case 'projection':
      return index === 0 ? 1 / diskSeconds(machineOf(setting), setting, routings) : 1 / simulated().tokenSeconds;
  }
}

function machineOf({ machine, where }: FindingSetting): ExpertsMachine {
  if (machine !== undefined) return machine;
  throw new InputError(where('machine'), 'is empty, and the finding has none; speeds need a machine');
}

function evictionOf({ eviction, where }: FindingSetting): EvictionName {
  if (eviction === '') return 'lru';
  const names = Object.keys(EVICTIONS) as EvictionName[];
  const found = names.find((name) => name === eviction);
  if (found !== undefined) return found;
  throw new InputError(where('eviction'), `unknown "${eviction}"${suggestion(eviction, names)}`);
}

/** Seconds of a token whose experts lie in the CPU's memory, some of them in a GPU's too; what every token uses lies there. */
function gpuCacheSeconds(machine: ExpertsMachine, setting: FindingSetting, routings: Routings): number {
  const { model, hostLayers = model.layers } = setting;
  const { gpuBandwidth } = machine;
  if (gpuBandwidth === undefined) throw new InputError(setting.where('machine'), `${machine.name} has no GPU`);
  const [cpu, gpu] = [BANDWIDTH_SHARE * machine.bandwidth, BANDWIDTH_SHARE * gpuBandwidth];
  const used = usedOf(setting);
  const { pool, slots } = slotsOf(setting);
  const routing = routings({ model, used, tokens: REPLAYED });
  const hits =
    slots === 0
      ? 0
      : setting.eviction === 'pinned-hottest'
        ? pinnedRate(routing, { pool, slots }, slots)
        : hitRate(routing, { pool, slots }, evictionOf(setting), REPLAYED >> 1);
  const bytesOfLayer = used * model.expertBytes;
  const ofHost = bytesOfLayer * (hits / gpu + (1 - hits) / cpu);
  const ofGpu = bytesOfLayer / gpu;
  return (
    model.denseBytes / gpu +
    model.layers * machine.layerSeconds +
    hostLayers * ofHost +
    (model.layers - hostLayers) * ofGpu
  );
}

/** The precision of guesses, the same for all ranks, from which on they pay; by bisection. */
function breakEven(machine: ExpertsMachine, setting: FindingSetting, simulations: Simulations): number {
  const one = caseOf(machine, setting);
  const secondsOf = (tried: ExpertsCase): number => simulations(tried, setting.model).tokenSeconds;
  const without = secondsOf({ ...one, policy: { ...one.policy, lookahead: { kind: 'none' } } });
  let [low, high] = [0, 1];
  for (let step = 0; step < BISECTIONS; step++) {
    const middle = (low + high) / 2;
    const precision = new Array<number>(one.mixture.used).fill(middle);
    if (secondsOf({ ...one, precision }) < without) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}

const BISECTIONS = 5;

/** Seconds of the disk alone for what a cache of any size misses. */
function diskSeconds(machine: ExpertsMachine, setting: FindingSetting, routings: Routings): number {
  const { mixture, policy, disk } = caseOf(machine, setting);
  const { layers, used, expertBytes } = mixture;
  const routing = routings({ model: setting.model, used, tokens: DISK_TOKENS });
  const hits = hitRate(routing, slotsOf(setting), evictionOf(setting), DISK_TOKENS >> 1);
  const missing = layers * used * (1 - hits);
  return readSeconds(disk, missing, expertBytes, policy.depth);
}

/** One of two texts: layers have the same slopes in both, and other experts are popular. */
function textOf({ model }: FindingSetting, seed: number) {
  const { layers, experts, used, recurrence } = model;
  const [least, most] = SLOPES;
  const popularity = Array.from({ length: layers }, (_, layer) => {
    const slope = least + ((most - least) * layer) / (layers - 1);
    return zipfPopularity({ layers: 1, experts, seed: seed * layers + layer }, slope)[0] as Float64Array;
  });
  return drawRouting({ tokens: REPLAYED, used, popularity, recurrence, seed });
}
