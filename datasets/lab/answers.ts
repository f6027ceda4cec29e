import { predictOverlapped } from '../../engine/cost/overlap.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { LINUX_SLICE_SECONDS } from '../../engine/hardware/disk-reads.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { FittedPolicy } from '../../engine/plan/weights-policy.ts';
import { type TokenFigures, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Moment } from '../../simulator/observer.ts';
import { MEASURED_OS_RATES, type PagePolicy } from '../../simulator/page-cache/policies.ts';
import { simulate } from '../../simulator/simulate.ts';
import { type LabCell, planOf, shareBytes } from './cell.ts';
import type { LabFacts } from './facts.ts';

/** Inputs of prediction and simulation: the probes' figures and the cell. */
export interface AnswersCase {
  readonly facts: LabFacts;
  readonly model: Model;
  readonly devices: readonly string[];
  readonly cell: LabCell;
  /** Probed rate that each device's throttle lets through, bytes per second. */
  readonly diskRates: readonly number[];
  /** Bytes that each device had for weights and their page tables; by default the cell's share of its weights. */
  readonly room?: readonly number[] | undefined;
  /** Bytes that each device pinned in the measured run; by default those that fit. */
  readonly pinned?: readonly number[] | undefined;
  /** Tokens of a run: one of the prompt, the rest decoded. */
  readonly tokens: number;
}

export interface LabAnswers {
  readonly plan: Plan;
  /** Closed forms without overlap (prima.cpp A.3, Eqs. 11–19); the bytes are those of Eq. 15. */
  readonly predicted: Pick<TokenFigures, 'seconds' | 'bytes'>;
  /** A closed form with overlap (predictOverlapped). */
  readonly overlapped: Pick<TokenFigures, 'seconds' | 'bytes'>;
  readonly simulated: TokenFigures;
  readonly trace: Trace;
}

/** The program's buffers are 0 here: they are part of its own memory, which a lab adds to a device's limit. */
const RUNTIME: Runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 };

/**
 * How a lab differs from devices at home: each device has a file of its own part; the prefetching thread asks for 4 MiB
 * at a time; and extents are so small that it is negligible that an extent shared by two windows is never dropped.
 */
const LINUX_LAB = { files: 'own', pins: 'kept', chunkBytes: 4 * 2 ** 20, extentBytes: 2 ** 16 } as const;

/** The plan that a cell was measured with. */
export function planOfCase({ cell, devices, model, pinned }: AnswersCase): Plan {
  const plan = planOf(cell, devices, model);
  if (cell.policy.release !== 'pinned' || pinned === undefined) return plan;
  const weights = devices.map((device, index) => [
    device,
    { ...(plan.weights[device] as FittedPolicy), release: 'pinned', pinned: pinned[index] },
  ]);
  return { ...plan, weights: Object.fromEntries(weights) };
}

/** Predicts and simulates a cell on the devices that the probes describe. */
export function answersOf(parts: AnswersCase): LabAnswers {
  const { model } = parts;
  const plan = planOfCase(parts);
  const truth = factsCluster(parts, plan);
  const asked = { plan, truth, model, workload: workloadOf(parts), runtime: RUNTIME } as const;
  const { tokenSeconds, reloadedBytes } = predict({ ...asked, reclaim: 'overflow' });
  const trace = simulateCell(parts, plan);
  const overlapped = predictOverlapped(asked);
  return {
    plan,
    predicted: { seconds: tokenSeconds, bytes: reloadedBytes },
    overlapped: { seconds: overlapped.tokenSeconds, bytes: overlapped.readBytes },
    simulated: tokenFigures(trace),
    trace,
  };
}

/** @param observe called whenever residency changes */
export function simulateCell(parts: AnswersCase, plan: Plan, observe?: (moment: Moment) => void): Trace {
  const { model } = parts;
  const run = { ...labSimulation(parts, plan), plan, model, workload: workloadOf(parts) };
  return simulate({ ...run, ...(observe && { observe }) }).trace;
}

/** The devices, and how a lab differs from devices at home: what any simulation of a cell needs. */
export function labSimulation(parts: Omit<AnswersCase, 'tokens'>, plan: Plan) {
  const { cell, facts } = parts;
  return {
    ...LINUX_LAB,
    throttle: { sliceSeconds: LINUX_SLICE_SECONDS, diskRate: facts.wholeDiskRate },
    runtime: RUNTIME,
    cluster: factsCluster(parts, plan),
    reclaim: pagePolicy(cell, facts),
  };
}

function workloadOf({ tokens }: AnswersCase): Workload {
  return createWorkload({ promptTokens: 1, outputTokens: tokens - 1, context: tokens });
}

/** If a thread populates weights, page faults don't read ahead (MADV_RANDOM). */
function pagePolicy({ policy }: LabCell, { readAhead }: LabFacts): PagePolicy {
  return { name: 'linux-two-list', random: policy.prefetch === 'populate', readAhead, osRates: MEASURED_OS_RATES };
}

/** The lab's devices as the probes describe them. */
function factsCluster(
  { facts, model, devices, cell, diskRates, room }: Omit<AnswersCase, 'tokens'>,
  plan: Plan,
): Cluster {
  const tokenBytes = RUNTIME.activationBytes * model.hiddenSize;
  const bandwidth = facts.linkBandwidth;
  return createCluster({
    name: 'lab',
    devices: devices.map((name, index) => {
      const available = room?.[index] ?? (cell.memoryShares[index] as number) * shareBytes(plan, model, name);
      const rate = diskRates[index] as number;
      return {
        name,
        description: 'a device of the lab, as the probes describe it',
        os: 'linux',
        memory: { total: available + (facts.ownBytes[index] as number), available, swappable: 0, swapFree: 0 },
        cpu: facts.cpu,
        gpu: undefined,
        npu: undefined,
        disk: { sequential: rate, random: Math.min(rate, facts.randomRate) },
      };
    }),
    links: {
      default: { latency: Math.max(0, facts.hopSeconds - tokenBytes / bandwidth), bandwidth },
      pairs: new Map(),
    },
  });
}
