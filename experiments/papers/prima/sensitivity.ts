import { createNamedModel } from '../../../datasets/load.ts';
import type { CatalogueModel } from '../../../engine/gguf/parse-models.ts';
import type { Device, ProcessorRates } from '../../../engine/hardware/device.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import type { Quantity } from '../comparison.ts';
import { execute, type Job } from './execute.ts';
import { withDevice, withDevices, withMemory } from './machines.ts';
import { simulatedQuantity } from './quantities.ts';
import type { PrimaComparison } from './rules.ts';
import { TARGETS } from './tables.ts';

/** An input that the paper leaves open, with the two ends of its range. */
export interface UncertainInput {
  readonly name: string;
  /** Why it is uncertain. */
  readonly reason: string;
  readonly ends: readonly [low: string, high: string];
  /** The job with the input at one end; undefined where the testbed has no such input. */
  readonly change: (job: Job, end: 0 | 1, catalogue: readonly CatalogueModel[]) => Job | undefined;
}

/** A cell's result with each input at each end of its range. */
export interface Sensitivity {
  readonly comparison: PrimaComparison;
  readonly base: Quantity | undefined;
  /** By input; undefined where the testbed has no such input. */
  readonly ranges: readonly (readonly [Quantity | undefined, Quantity | undefined] | undefined)[];
}

const MIXES = ['Q4_K_S', 'Q4_K_M'] as const;
const RESERVED = [256, 1024] as const;
const RATES = [0.75, 1.25] as const;

const GIB = 2 ** 30;

/** The true RAM of a device; the scheduler sees the stated one. */
function ramOf(device: string, reason: string, [low, high]: readonly [number, number]): UncertainInput {
  return {
    name: `RAM of ${device}`,
    reason,
    ends: [`${low}`, `${high} GiB`],
    change: (job, end) =>
      hasDevice(job, device)
        ? { ...job, truth: withMemory(job.truth, device, (end === 0 ? low : high) * GIB) }
        : undefined,
  };
}

export const UNCERTAIN_INPUTS: readonly UncertainInput[] = [
  {
    name: 'CPU rates',
    reason: 'parts assumed',
    ends: ['−25 %', '+25 %'],
    change: (job, end) => onDevices(job, (device) => ({ ...device, cpu: scaled(device.cpu, RATES[end]) })),
  },
  {
    name: 'GPU rates',
    reason: 'efficiency assumed',
    ends: ['−25 %', '+25 %'],
    change: (job, end) =>
      onDevices(job, (device) => ({ ...device, gpu: device.gpu && scaled(device.gpu, RATES[end]) })),
  },
  {
    name: 'tokens read',
    reason: 'not stated',
    ends: ['those of the prompt', 'all that have room'],
    change: (job, end) => {
      const { promptTokens, context, reservedContext = context } = job.workload;
      return { ...job, workload: { ...job.workload, context: end === 0 ? promptTokens : reservedContext } };
    },
  },
  {
    name: 'tokens reserved',
    reason: 'not stated; Table 5 implies some 1000 for llama.cpp and at most 330 for prima.cpp',
    ends: [`${RESERVED[0]}`, `${RESERVED[1]}`],
    change: (job, end) => ({
      ...job,
      workload: { ...job.workload, context: RESERVED[end], reservedContext: RESERVED[end] },
    }),
  },
  {
    name: 'weights',
    reason: 'not stated',
    ends: MIXES,
    change: (job, end, catalogue) => ({
      ...job,
      model: createNamedModel(catalogue, `${job.model.name}:${MIXES[end]}`),
    }),
  },
  {
    name: 'disk of D3',
    reason: '3.0 GB/s in the newest version, 3.17 in the older',
    ends: ['3.0', '3.17 GB/s'],
    change: (job, end) => {
      if (!hasDevice(job, 'D3')) return undefined;
      const rate = end === 0 ? 3.0e9 : 3.17e9;
      const faster = (device: Device): Device => ({ ...device, disk: { ...device.disk, sequential: rate } });
      const { belief, truth } = job;
      return {
        ...job,
        belief: withDevice(belief, 'D3', faster),
        truth: withDevice(truth, 'D3', faster),
      };
    },
  },
  ramOf('D1', '2.4 GiB stated; as many cells hold from 3.4 to 4.2 GiB (consistency)', [2.4, 4.2]),
  ramOf(
    'D3',
    '9.7 GiB stated, 12.1 if that is four fifths; as many cells hold from 13.6 to 15.4 (consistency)',
    [12.1, 15.4],
  ),
];

/** The `count` comparisons with the largest errors, as simulated, in columns that have targets; the largest first. */
export function largestMisses(comparisons: readonly PrimaComparison[], count: number): PrimaComparison[] {
  const sizeOf = ({ detail, simulatedError = 0 }: PrimaComparison): number =>
    detail.policy === undefined ? 0 : Math.abs(Math.log1p(simulatedError));
  const aimedAt = (table: string, system: string): boolean =>
    TARGETS.some((target) => target.table === table && target.system === system);
  return comparisons
    .filter(({ detail: { table, policy }, cell }) => policy?.claimed === true && aimedAt(table.number, cell.system))
    .filter(({ cell }) => cell.metric === 'tpot')
    .sort((one, other) => sizeOf(other) - sizeOf(one))
    .slice(0, count);
}

/** A comparison's result with every uncertain input at both ends, one at a time. */
export function sensitivityOf(
  comparison: PrimaComparison,
  job: Job,
  catalogue: readonly CatalogueModel[],
  solver: IntegerSolver,
): Sensitivity {
  const { cell } = comparison;
  const resultOf = (changed: Job): Quantity | undefined => simulatedQuantity(cell, execute(changed, solver));
  const ranges = UNCERTAIN_INPUTS.map(({ change }) => {
    const [low, high] = [change(job, 0, catalogue), change(job, 1, catalogue)];
    return low && high ? ([resultOf(low), resultOf(high)] as const) : undefined;
  });
  return { comparison, base: comparison.simulated, ranges };
}

function onDevices(job: Job, change: (device: Device) => Device): Job {
  return { ...job, belief: withDevices(job.belief, change), truth: withDevices(job.truth, change) };
}

function scaled<Rates extends ProcessorRates>(rates: Rates, factor: number): Rates {
  const flops = Object.fromEntries(Object.entries(rates.flops).map(([format, rate]) => [format, rate * factor]));
  return { ...rates, flops: flops as Rates['flops'], bandwidth: rates.bandwidth * factor };
}

function hasDevice({ truth }: Job, device: string): boolean {
  return truth.devices.some(({ name }) => name === device);
}
