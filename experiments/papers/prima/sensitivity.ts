import { createNamedModel } from '../../../datasets/load.ts';
import type { Device, ProcessorRates } from '../../../engine/hardware/device.ts';
import type { CatalogueModel } from '../../../engine/model/parse-models.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import type { Quantity } from '../comparison.ts';
import { execute, type Job } from './execute.ts';
import { LARGER_D3, withDevice, withDevices, withLargerD3 } from './machines.ts';
import { LARGER_DEVICE } from './policies.ts';
import { predictedQuantity, simulatedQuantity } from './quantities.ts';
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
      if (!hasLargerDevice(job)) return undefined;
      const rate = end === 0 ? 3.0e9 : 3.17e9;
      const faster = (device: Device): Device => ({ ...device, disk: { ...device.disk, sequential: rate } });
      const { belief, truth } = job;
      return {
        ...job,
        belief: withDevice(belief, LARGER_DEVICE, faster),
        truth: withDevice(truth, LARGER_DEVICE, faster),
      };
    },
  },
  {
    name: 'RAM of D3',
    reason: '9.7 GiB stated, 13.5 to 21.5 implied',
    ends: ['13.5', '21.5 GiB'],
    change: (job, end) =>
      hasLargerDevice(job)
        ? { ...job, truth: withLargerD3(job.belief, end === 0 ? LARGER_D3.low : LARGER_D3.high) }
        : undefined,
  },
];

/** The `count` comparisons with the largest errors, by the claimed answer, in columns that have targets; the largest first. */
export function largestMisses(comparisons: readonly PrimaComparison[], count: number): PrimaComparison[] {
  const sizeOf = ({ detail, predictedError = 0, simulatedError = 0 }: PrimaComparison): number =>
    Math.abs(Math.log1p(detail.policy?.answer === 'simulated' ? simulatedError : predictedError));
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
  const resultOf = (changed: Job): Quantity | undefined => {
    const execution = execute(changed, solver);
    return changed.policy.answer === 'simulated'
      ? simulatedQuantity(cell, execution)
      : predictedQuantity(cell, execution, changed.truth);
  };
  const ranges = UNCERTAIN_INPUTS.map(({ change }) => {
    const [low, high] = [change(job, 0, catalogue), change(job, 1, catalogue)];
    return low && high ? ([resultOf(low), resultOf(high)] as const) : undefined;
  });
  return { comparison, base: job.policy.answer === 'simulated' ? comparison.simulated : comparison.predicted, ranges };
}

function onDevices(job: Job, change: (device: Device) => Device): Job {
  return { ...job, belief: withDevices(job.belief, change), truth: withDevices(job.truth, change) };
}

function scaled<Rates extends ProcessorRates>(rates: Rates, factor: number): Rates {
  const flops = Object.fromEntries(Object.entries(rates.flops).map(([format, rate]) => [format, rate * factor]));
  return { ...rates, flops: flops as Rates['flops'], bandwidth: rates.bandwidth * factor };
}

function hasLargerDevice({ truth }: Job): boolean {
  return truth.devices.some(({ name }) => name === LARGER_DEVICE);
}
