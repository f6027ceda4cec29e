import { createNamedModel, loadCatalogue, loadCluster, loadPublished } from '../../datasets/load.ts';
import type { PublishedCell } from '../../datasets/published.ts';
import { type Testbed, testbedNamed, trueCluster, withHead } from '../../datasets/testbeds.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { primaOptions } from '../papers/prima/options.ts';
import { planWith } from '../papers/prima/planners.ts';
import { policiesOf, type SystemPolicy } from '../papers/prima/policies.ts';
import { runtimeOf, versionOf, workloadOf } from '../papers/prima/program.ts';
import type { Cell, Problem, Values } from './problem.ts';
import { type RingSystem, type RingUnknown, ringProblem } from './rings.ts';
import type { UnknownTestbed } from './testbeds.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/**
 * How prima.cpp plans: its program with line 13 as the paper prints it or as the program's source has it, the paper's
 * algorithm as printed and with repairs, and the optimum of Eq. 1.
 */
export const PLANNERS = ['halda-line-13', 'halda-program', 'halda', 'halda-any', 'halda-repaired', 'optimum'] as const;
export type Planner = (typeof PLANNERS)[number];

/** The default planner, and the default of the largest error with which a cell holds (PROTOCOL.md). */
export const PROTOCOL = { planner: 'halda-line-13', tolerance: 0.3 } as const satisfies {
  readonly planner: Planner;
  readonly tolerance: number;
};

/** Systems whose times take part. The others are blind to all unknowns. */
const SYSTEMS = ['llama.cpp', 'prima.cpp', 'prima.cpp-no-prefetch', 'prima.cpp-no-halda'] as const;

/** The inverse problem of a testbed of prima.cpp, whose plans are made by one planner. */
export function primaProblem(
  unknown: UnknownTestbed,
  planner: Planner,
  solver: IntegerSolver,
  tolerance: number,
): Problem {
  const testbed = testbedNamed(unknown.cluster);
  const published = loadPublished();
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const belief = loadCluster(testbed.belief);
  const used = usedValues(unknown.unknowns, testbed, trueCluster(testbed, belief));
  const found = cellsOf(unknown, published);
  const systems = SYSTEMS.map(
    (name) => [name, systemOf(name, { testbed, published, found, planner, solver })] as const,
  );
  return ringProblem({
    name: unknown.cluster,
    cluster: belief,
    unknowns: unknown.unknowns,
    cells: [...found.keys()],
    systems: Object.fromEntries(systems),
    modelOf(key) {
      const model = models.get(key) ?? createNamedModel(catalogue, key);
      models.set(key, model);
      return model;
    },
    tolerance,
    used,
  });
}

/** The values with which the tables are reproduced: those of the testbed, else the prior. */
function usedValues(unknowns: readonly RingUnknown[], testbed: Testbed, truth: Cluster): Values {
  return Object.fromEntries(unknowns.map((unknown) => [unknown.name, usedValue(unknown, testbed, truth)]));
}

function usedValue({ quantity, prior }: RingUnknown, { unknowns }: Testbed, truth: Cluster): number {
  switch (quantity.kind) {
    case 'ram': {
      const device = truth.devices.find(({ name }) => quantity.devices.includes(name));
      return device === undefined ? prior : device.memory.available / GIB;
    }
    case 'disk': {
      const taken = unknowns.find((one) => one.kind === 'disk' && one.devices.join() === quantity.devices.join());
      return taken?.kind === 'disk' ? taken.bytesPerSecond / 1e9 : prior;
    }
    case 'gpu-rate': {
      const taken = unknowns.find(({ kind }) => kind === 'gpu-rates');
      return taken?.kind === 'gpu-rates' ? taken.share : prior;
    }
    case 'vram-kept': {
      const taken = unknowns.find(({ kind }) => kind === 'vram-by-hand');
      return taken?.kind === 'vram-by-hand' ? taken.bytes / MIB : prior;
    }
    case 'cpu-rate':
    case 'latency':
    case 'kv-room':
      return prior;
  }
}

/** The times per token in the testbed's tables, with what they are printed as. */
function cellsOf({ tables }: UnknownTestbed, published: readonly PublishedCell[]): Map<Cell, PublishedCell> {
  const systems: readonly string[] = SYSTEMS;
  const found = new Map<Cell, PublishedCell>();
  for (const cell of published) {
    const { paper, table, system, row, column, model, metric, value } = cell;
    const isMeant = paper === 'prima-cpp' && metric === 'tpot' && tables.some((number) => table === `Table ${number}`);
    if (!isMeant || typeof value !== 'number' || !systems.includes(system)) continue;
    const name = `${table}, ${row}, ${column}`;
    found.set({ name, table, system, row, model, published: value / 1e3 }, cell);
  }
  return found;
}

interface SystemParts {
  readonly testbed: Testbed;
  readonly published: readonly PublishedCell[];
  readonly found: ReadonlyMap<Cell, PublishedCell>;
  readonly planner: Planner;
  readonly solver: IntegerSolver;
}

/** A system with the settings that it has in the reproduction of the tables. */
function systemOf(name: string, { testbed, published, found, planner, solver }: SystemParts): RingSystem {
  const isPrima = name !== 'llama.cpp';
  const versions = new Map([...found].map(([cell, printed]) => [cell, versionOf(printed, published)] as const));
  const policies = new Map([...found.keys()].map((cell) => [cell, policyOf(cell, planner)] as const));
  const versionFor = (cell: Cell) => versions.get(cell) ?? 'july-2025';
  const policyFor = (cell: Cell): SystemPolicy => policies.get(cell) ?? policyOf(cell, planner);
  return {
    prefetch: (cell) => policyFor(cell).prefetch,
    ignores: isPrima ? ['vram-kept'] : ['kv-room', 'latency'],
    wayOf: (cell) => `${policyFor(cell).planner} ${isPrima ? versionFor(cell) : ''}`,
    headed: (cluster, cell) => (isPrima ? withHead(cluster, testbed.heads[versionFor(cell)]) : cluster),
    schedule(cell, model, { belief, vramKept, kvRoom }) {
      const { planner: own, program } = policyFor(cell);
      const version = versionFor(cell);
      const workload = workloadOf(isPrima ? { ...program, room: kvRoom } : program, primaOptions({}));
      const needed = runtimeOf(program, version, model, workload);
      const runtime = { ...needed, gpuBufferBytes: needed.gpuBufferBytes + (isPrima ? 0 : vramKept) };
      const scheduled = planWith(own, { belief, model, workload, runtime }, version, solver);
      // A cell that was printed had a plan; where the program finds none, another version ran.
      const found =
        scheduled.plan === undefined && isPrima
          ? planWith('optimum', { belief, model, workload, runtime }, version, solver)
          : scheduled;
      return { ...found, workload, runtime };
    },
  };
}

/** How the reproduction reads the system: with the planner, where it has that choice, else as it is claimed. */
function policyOf({ system, table }: Cell, planner: Planner): SystemPolicy {
  const policies = policiesOf(system, table.replace('Table ', ''));
  const found = policies.find((policy) => policy.planner === planner) ?? policies[0];
  if (found === undefined) throw new RangeError(`${table} has no policy for ${system}`);
  return found;
}
