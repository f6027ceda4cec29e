import { createNamedModel, loadCatalogue, loadClusterFile, loadPublished } from '../../../datasets/load.ts';
import { TESTBEDS, type Testbed, testbedNamed, type Unknown } from '../../../datasets/testbeds.ts';
import { type Cluster, createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device, ProcessorRates } from '../../../engine/hardware/device.ts';
import { formatBytes, formatPercent } from '../../../engine/input/format.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { withDevices } from '../prima/machines.ts';
import { primaOptions } from '../prima/options.ts';
import { policiesOf } from '../prima/policies.ts';
import { cellsOf, tableRules } from '../prima/rules.ts';
import { PRIMA_TABLES } from '../prima/tables.ts';
import { numeric, type Parameter, type Study, simulatedAnswers, studiedCells } from './study.ts';

/** Time limit of one integer program, seconds. */
const SOLVER_SECONDS = 20;

interface Machine {
  readonly testbed: Testbed;
  /** The devices as the paper states them. */
  readonly stated: Cluster;
}

interface PrimaParameter extends Parameter {
  readonly change: (machine: Machine, factor: number) => Machine;
}

/**
 * prima.cpp: every value that was inferred of a testbed, and the rates of all devices and links, parts of which are
 * assumed. Cells are TPOT under the reading that stands for each column.
 */
export async function primaStudy(): Promise<Study> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  const published = loadPublished();
  const catalogue = loadCatalogue();
  const options = primaOptions({});
  const shared = {
    ...{ published, options, solver, contradictions: [] },
    modelOf: (model: string, mix?: string) =>
      createNamedModel(catalogue, mix === undefined ? model : `${model}:${mix}`),
  };
  const rulesOf = (parameter: number | undefined, factor: number) =>
    PRIMA_TABLES.flatMap((table) => {
      const testbed = testbedNamed(table.testbed);
      const machine: Machine = { testbed, stated: loadClusterFile(testbed.belief).cluster };
      const changed = parameter === undefined ? machine : PARAMETERS[parameter]?.change(machine, factor);
      const { testbed: own, stated: belief } = changed ?? machine;
      const rules = numeric(tableRules({ ...shared, table, cells: cellsOf(published, table), testbed: own, belief }));
      return rules.filter(
        ({ cell, policy }) =>
          cell.metric === 'tpot' &&
          policiesOf(cell.system, table.number).some(({ name, claimed }) => claimed && name === policy),
      );
    });
  return {
    paper: 'prima',
    parameters: PARAMETERS,
    cells: studiedCells(rulesOf(undefined, 1)),
    answers: (parameter, factor) => simulatedAnswers(rulesOf(parameter, factor)),
    dispose: () => solver.dispose(),
  };
}

function scaledRates<Rates extends ProcessorRates>(rates: Rates, factor: number): Rates {
  const flops = Object.fromEntries(Object.entries(rates.flops).map(([format, rate]) => [format, rate * factor]));
  return { ...rates, flops: flops as Rates['flops'], bandwidth: rates.bandwidth * factor };
}

/** A rate of all devices, or all links, of all testbeds. */
function everywhere(name: string, change: (cluster: Cluster, factor: number) => Cluster): PrimaParameter {
  return {
    ...{ name, value: 'as in their files', kind: 'assumed' },
    change: (machine, factor) => ({ ...machine, stated: change(machine.stated, factor) }),
  };
}

const onDevices =
  (change: (device: Device, factor: number) => Device) =>
  (cluster: Cluster, factor: number): Cluster =>
    withDevices(cluster, (device) => change(device, factor));

function onLinks(cluster: Cluster, factor: number): Cluster {
  const faster = <Link extends { readonly bandwidth: number }>(link: Link): Link => ({
    ...link,
    bandwidth: link.bandwidth * factor,
  });
  const { links } = cluster;
  const pairs = new Map([...links.pairs].map(([pair, link]) => [pair, faster(link)] as const));
  return createCluster({ ...cluster, links: { default: faster(links.default), pairs } });
}

const UNKNOWN_NAMES = {
  ram: 'RAM',
  disk: 'disk',
  'gpu-rates': 'share of GPU rates',
  'vram-by-hand': 'VRAM left free by hand',
} as const satisfies Record<Unknown['kind'], string>;

function scaledUnknown(unknown: Unknown, factor: number): Unknown {
  switch (unknown.kind) {
    case 'ram':
    case 'vram-by-hand':
      return { ...unknown, bytes: unknown.bytes * factor };
    case 'disk':
      return { ...unknown, bytesPerSecond: unknown.bytesPerSecond * factor };
    case 'gpu-rates':
      return { ...unknown, share: unknown.share * factor };
  }
}

function textOf(unknown: Unknown): string {
  switch (unknown.kind) {
    case 'ram':
    case 'vram-by-hand':
      return formatBytes(unknown.bytes);
    case 'disk':
      return `${(unknown.bytesPerSecond / 1e9).toFixed(1)} GB/s`;
    case 'gpu-rates':
      return formatPercent(unknown.share);
  }
}

/** The unknowns of all testbeds; those of several testbeds with one home are one. */
function unknownParameters(): PrimaParameter[] {
  const all = new Set(TESTBEDS.flatMap(({ unknowns }): readonly Unknown[] => unknowns));
  return [...all].map((unknown) => {
    const testbeds = TESTBEDS.filter(({ unknowns }) => unknowns.includes(unknown));
    const devices = unknown.kind === 'vram-by-hand' ? [] : unknown.devices;
    const where = devices.length === 1 ? `${testbeds[0]?.name} ${devices[0]}` : `${testbeds[0]?.name}`;
    return {
      name: `${where}: ${UNKNOWN_NAMES[unknown.kind]}`,
      value: textOf(unknown),
      kind: unknown.status === 'inferred' ? 'fitted' : 'assumed',
      change: ({ testbed, stated }, factor) => ({
        stated,
        testbed: {
          ...testbed,
          unknowns: testbed.unknowns.map((one) => (one === unknown ? scaledUnknown(one, factor) : one)),
        },
      }),
    };
  });
}

const PARAMETERS: readonly PrimaParameter[] = [
  ...unknownParameters(),
  everywhere(
    'CPU rates',
    onDevices((device, factor) => ({ ...device, cpu: scaledRates(device.cpu, factor) })),
  ),
  everywhere(
    'GPU rates',
    onDevices((device, factor) => ({ ...device, gpu: device.gpu && scaledRates(device.gpu, factor) })),
  ),
  everywhere(
    'disk rates',
    onDevices((device, factor) => ({
      ...device,
      disk: { sequential: device.disk.sequential * factor, random: device.disk.random * factor },
    })),
  ),
  everywhere('link bandwidth', onLinks),
];
