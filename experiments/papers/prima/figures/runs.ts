import { findPublished, type PublishedCell } from '../../../../datasets/published.ts';
import { testbedNamed } from '../../../../datasets/testbeds.ts';
import { predict } from '../../../../engine/cost/predict.ts';
import { type Cluster, withDevices } from '../../../../engine/hardware/cluster.ts';
import type { Model } from '../../../../engine/model/model.ts';
import type { Plan } from '../../../../engine/plan/plan.ts';
import { ringPlan } from '../../../../engine/plan/ring-plan.ts';
import type { Prefetch } from '../../../../engine/plan/weights-policy.ts';
import type { IntegerSolver } from '../../../../engine/schedule/integer-solver.ts';
import type { SimulationResult } from '../../../../simulator/result.ts';
import { simulate } from '../../../../simulator/simulate.ts';
import type { Answer } from '../../comparison.ts';
import { execute, type Job } from '../execute.ts';
import { OPERATING_SYSTEMS } from '../machines.ts';
import type { PrimaOptions } from '../options.ts';
import type { Planner } from '../planners.ts';
import { PRIMA_CPP } from '../program.ts';
import { decodedSeconds, quantityOf } from '../quantities.ts';
import { type Settings, settingsOf } from '../settings.ts';

/** Data for the runs behind the figures. */
export interface FigureInputs {
  readonly published: readonly PublishedCell[];
  /** The devices of a testbed, as the paper states them. */
  readonly statedOf: (belief: string) => Cluster;
  readonly modelOf: (name: string) => Model;
  readonly options: PrimaOptions;
  readonly solver: IntegerSolver;
}

/** prima.cpp with a planner on a testbed, or on some of its devices. */
export interface PlannedRun {
  readonly testbed: string;
  /** All devices unless given. */
  readonly devices?: readonly string[];
  readonly model: string;
  readonly planner: Planner;
  readonly prefetch: Prefetch;
  /** The printed figure, which says with which version of the program it was measured. */
  readonly cell: PublishedCell;
}

/** A run of Table 4, and what it reloads. */
export interface TableRun {
  readonly seconds: number;
  readonly plan: Plan;
  /** Bytes that all devices read for the decoded tokens. */
  readonly reloaded: number;
  readonly truth: Cluster;
  readonly model: Model;
}

/** prima.cpp with windows of one size on all devices, set by hand. */
export interface EvenRun {
  readonly testbed: string;
  readonly model: string;
  readonly rounds: number;
  readonly prefetch: Prefetch;
}

/** Seconds per token of runs, by either answer; undefined without a plan, or where memory is lacking. */
export interface FigureRuns {
  /** prima.cpp's program in a cell of Table 4, simulated; `undefined` without a plan. */
  table4(model: string, prefetch: Prefetch): TableRun | undefined;
  /** The same plan where devices have what the paper states and the overflow alone is reloaded (Eq. 15), seconds. */
  overflow4(model: string, prefetch: Prefetch): number | undefined;
  /** Printed seconds in Table 4 of prima.cpp, or of a variant. */
  printed4(model: string, system: 'prima.cpp' | 'prima.cpp-no-prefetch'): number;
  planned(run: PlannedRun, answer: Answer): number | undefined;
  even(run: EvenRun, answer: Answer): number | undefined;
}

/** Carries out every run once. Machines and operating systems are those of the tables. */
export function createFigureRuns(inputs: FigureInputs): FigureRuns {
  const { published, statedOf, modelOf, options, solver } = inputs;
  const settings = (testbedName: string, model: Model, cell?: PublishedCell, devices?: readonly string[]): Settings => {
    const testbed = testbedNamed(testbedName);
    const stated = devices === undefined ? statedOf(testbed.belief) : withDevices(statedOf(testbed.belief), devices);
    return settingsOf({ testbed, stated, published, options, program: PRIMA_CPP, cell, model });
  };
  const warm = options.warm === 'run';
  const known = new Map<string, Readonly<Record<Answer, number | undefined>>>();
  const once = (key: unknown, answer: Answer, run: () => Readonly<Record<Answer, number | undefined>>) => {
    const text = JSON.stringify(key);
    const found = known.get(text) ?? run();
    known.set(text, found);
    return found[answer];
  };
  const job = ({ testbed, devices, planner, prefetch, cell, model: name }: PlannedRun): Job => {
    const model = modelOf(name);
    const policy = { name: planner, program: PRIMA_CPP, planner, prefetch, claimed: true, reason: '' };
    return { policy, warm, model, ...settings(testbed, model, cell, devices) };
  };
  const planned = (run: PlannedRun) => {
    const { predicted, simulated } = execute(job(run), solver);
    if (predicted === undefined || predicted.infeasible.length > 0)
      return { predicted: undefined, simulated: undefined };
    return { predicted: predicted.tokenSeconds, simulated: simulatedSeconds(simulated) };
  };
  const cell4 = (model: string, system: string): PublishedCell => {
    const cells = findPublished(published, { system, model, metric: 'tpot' });
    const found = cells.find(({ paper, table }) => paper === 'prima-cpp' && table === 'Table 4');
    if (found === undefined) throw new RangeError(`Table 4 has no ${model} of ${system}`);
    return found;
  };
  const job4 = (model: string, prefetch: Prefetch): Job =>
    job({ testbed: 'prima-home', model, planner: 'halda-line-13', prefetch, cell: cell4(model, 'prima.cpp') });
  const even = ({ testbed, rounds, prefetch, model: name }: EvenRun) => {
    const model = modelOf(name);
    const { truth, workload, runtime } = settings(testbed, model);
    const devices = truth.devices.map((device) => device.name);
    const layers = model.layers / (rounds * devices.length);
    const windows = devices.map((device) => ({ device, layers, gpuLayers: 0 }));
    const weights = Object.fromEntries(devices.map((device) => [device, { prefetch, release: 'none' } as const]));
    const plan = { ...ringPlan({ scheduler: 'hand', head: devices[0] ?? '', rounds, windows }), weights };
    const given = { model, plan, workload, runtime };
    const reclaim = OPERATING_SYSTEMS.simulated;
    return {
      predicted: predict({ ...given, truth, reclaim: OPERATING_SYSTEMS.predicted }).tokenSeconds,
      simulated: simulatedSeconds(
        simulate({ ...given, cluster: truth, warm, reclaim, context: 'fixed', record: 'tokens' }),
      ),
    };
  };
  return {
    table4(model, prefetch) {
      const own = job4(model, prefetch);
      const { plan, simulated } = execute(own, solver);
      const seconds = simulatedSeconds(simulated);
      if (plan === undefined || simulated === undefined || seconds === undefined) return undefined;
      const reloaded = simulated.devices.reduce((sum, { counters }) => sum + counters.reloaded, 0);
      return { seconds, plan, reloaded, truth: own.truth, model: own.model };
    },
    overflow4(model, prefetch) {
      const { belief, workload, runtime, ...own } = job4(model, prefetch);
      const { plan } = execute({ belief, workload, runtime, ...own }, solver);
      if (plan === undefined) return undefined;
      const given = { cluster: belief, model: own.model, plan, workload, runtime, warm };
      return simulatedSeconds(simulate({ ...given, reclaim: 'overflow', context: 'fixed', record: 'tokens' }));
    },
    printed4: (model, system) => Number(quantityOf(cell4(model, system))),
    planned: (run, answer) => once({ ...run, cell: [run.cell.table, run.cell.row] }, answer, () => planned(run)),
    even: (run, answer) => once(run, answer, () => even(run)),
  };
}

function simulatedSeconds(result: SimulationResult | undefined): number | undefined {
  return result === undefined || result.outOfMemory.length > 0 ? undefined : decodedSeconds(result.trace);
}
