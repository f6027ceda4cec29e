import { predict } from '../../engine/cost/predict.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Prefetch } from '../../engine/plan/weights-policy.ts';
import type { Scheduled } from '../../engine/schedule/scheduler.ts';
import { simulate } from '../../simulator/simulate.ts';
import { withPrefetch } from '../papers/prima/execute.ts';
import { OPERATING_SYSTEMS } from '../papers/prima/machines.ts';
import type { Cell, Problem, Unknown, Values } from './problem.ts';
import { changesPlans, type Quantity, type Setting, withQuantity } from './quantities.ts';

/** An unknown of a ring's testbed. */
export interface RingUnknown extends Unknown {
  readonly quantity: Quantity;
}

/** A system of the paper, as it runs on a testbed. */
export interface RingSystem {
  /** Whether devices prefetch as the plan says; otherwise page faults load what is missing. */
  readonly prefetch: (cell: Cell) => Prefetch | undefined;
  /** Quantities on which neither its plans nor their times depend. */
  readonly ignores: readonly Quantity['kind'][];
  /** Cells of the same model and way have the same plan. */
  readonly wayOf: (cell: Cell) => string;
  /** The cluster with the system's head. */
  readonly headed: (cluster: Cluster, cell: Cell) => Cluster;
  /** The plan for a belief with that head, and the settings with which it is carried out. */
  readonly schedule: (cell: Cell, model: Model, setting: Setting) => Scheduled & Carried;
}

/** The settings with which a plan is carried out. */
export interface Carried {
  readonly workload: Workload;
  readonly runtime: Runtime;
}

export interface RingProblemParts {
  readonly name: string;
  readonly cluster: Cluster;
  readonly unknowns: readonly RingUnknown[];
  readonly cells: readonly Cell[];
  readonly systems: Readonly<Record<string, RingSystem>>;
  /** The model by the key of a cell. */
  readonly modelOf: (key: string) => Model;
  readonly tolerance: number;
  readonly used: Values;
}

/** A plan and the settings with which it is carried out. */
interface Planned {
  readonly plan: Plan | undefined;
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime: Runtime;
  /** Bytes of RAM that the plan takes on each of its devices. */
  readonly needs: ReadonlyMap<string, number>;
}

/** Values as a setting, and those that a system's plans depend on as a key. */
interface Place {
  readonly setting: Setting;
  readonly planning: ReadonlyMap<RingSystem, string>;
}

/** RAM beyond this changes nothing: page tables and reads in progress take less than the share and the bytes added. */
const enough = (need: number): number => 1.03 * need + 2 ** 25;

/**
 * The inverse problem of a ring's testbed. A cell's answer is its simulated TPOT: the system plans on what the program
 * reported (belief), and the plan runs on what the devices have (truth), under the operating system of each device,
 * the same for all systems. Plans and simulations are kept by the values that they depend on.
 */
export function ringProblem(parts: RingProblemParts): Problem {
  const { name, cluster, unknowns, cells, systems, modelOf, tolerance, used } = parts;
  const start: Setting = { belief: cluster, truth: cluster, vramKept: 0, kvRoom: 0 };
  const planning = new Map(
    Object.values(systems).map((system) => [
      system,
      unknowns.filter(({ quantity }) => changesPlans(quantity) && !system.ignores.includes(quantity.kind)),
    ]),
  );
  const places = new WeakMap<Values, Place>();
  const byKey = new Map<string, Place>();
  const plans = new Map<string, Planned>();
  const answers = new Map<string, number | undefined>();

  const settingOf = (values: Values): Setting =>
    unknowns.reduce(
      (before, { name: unknown, quantity, prior }) => withQuantity(before, quantity, values[unknown] ?? prior),
      start,
    );
  const placeOf = (values: Values): Place => {
    const known = places.get(values);
    if (known !== undefined) return known;
    const key = keyOf(unknowns, values);
    const same = byKey.get(key);
    const keys = new Map([...planning].map(([system, own]) => [system, keyOf(own, values)]));
    const place = same ?? { setting: settingOf(values), planning: keys };
    byKey.set(key, place);
    places.set(values, place);
    return place;
  };

  return {
    name,
    unknowns,
    cells,
    tolerance,
    used,
    answer(cell, values) {
      const system = systems[cell.system];
      if (system === undefined) return undefined;
      const place = placeOf(values);
      const planKey = [system.wayOf(cell), cell.model, place.planning.get(system)].join('\n');
      const planned = plans.get(planKey) ?? planOf(system, cell, modelOf(cell.model), place.setting);
      plans.set(planKey, planned);
      const truth = system.headed(place.setting.truth, cell);
      const prefetch = system.prefetch(cell);
      const key = [planKey, prefetch, ...memoryKey(planned, truth)].join('\n');
      if (!answers.has(key)) answers.set(key, tokenSeconds(planned, prefetch, truth));
      return answers.get(key);
    },
  };
}

/** Key of a simulation beyond its plan: the RAM of devices that don't have enough. */
function memoryKey({ needs }: Planned, { devices }: Cluster): string[] {
  return devices.flatMap(({ name, memory }) => {
    const need = needs.get(name);
    if (need === undefined) return [];
    return [memory.available > enough(need) ? 'enough' : String(memory.available)];
  });
}

function keyOf(unknowns: readonly RingUnknown[], values: Values): string {
  return unknowns.map(({ name, prior }) => values[name] ?? prior).join();
}

function planOf(system: RingSystem, cell: Cell, model: Model, setting: Setting): Planned {
  const belief = system.headed(setting.belief, cell);
  const { plan, workload, runtime } = system.schedule(cell, model, { ...setting, belief });
  const devices = plan === undefined ? [] : predict({ plan, truth: belief, model, workload, runtime }).devices;
  const needs = new Map(devices.map(({ device, ramBytes }) => [device, ramBytes]));
  return { plan, model, workload, runtime, needs };
}

function tokenSeconds({ plan, model, workload, runtime }: Planned, prefetch: Prefetch | undefined, truth: Cluster) {
  if (plan === undefined) return undefined;
  const { trace, outOfMemory } = simulate({
    cluster: truth,
    model,
    plan: withPrefetch(plan, prefetch),
    workload,
    runtime,
    reclaim: OPERATING_SYSTEMS.simulated,
    context: 'fixed',
    record: 'tokens',
  });
  if (outOfMemory.length > 0) return undefined;
  // The first token depends on what the prompt left in the page cache.
  const decoded = trace.tokens.filter(({ phase }) => phase === 'decode').slice(1);
  return decoded.reduce((sum, { start, end }) => sum + end - start, 0) / decoded.length;
}
