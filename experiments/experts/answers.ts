import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { type PredictedExperts, predictExperts } from '../../engine/cost/experts/predict-experts.ts';
import { PRESSURES } from '../../engine/cost/experts/pressure.ts';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { type Routing, tokensOf } from '../../engine/experts/routing.ts';
import { LINUX_SLICE_SECONDS } from '../../engine/hardware/disk-reads.ts';
import type { ExpertAccess } from '../../engine/runtime/weights/layer-experts.ts';
import { simulateExperts } from '../../simulator/systems/experts.ts';
import type { Column } from '../report/columns.ts';
import { mean } from '../report/mean.ts';
import { COPY_RATE, type KnownMachine } from './calibrate.ts';
import { policyName } from './cells.ts';
import type { GroupMeasured } from './measure.ts';

export interface ExpertsRow {
  readonly policy: ExpertsPolicy;
  readonly measured: Answer;
  /** Bytes of a token that were asked for, whether the page cache had them or not. */
  readonly askedBytes: number;
  readonly groupBytes: number | undefined;
  readonly wrong: number;
  /** Accesses, and those whose reads differ from what the policy's caches say; `undefined` without slots. */
  readonly accesses: number;
  readonly different: number | undefined;
  /** Seconds of a token in which the processor doesn't wait for experts. */
  readonly computeSeconds: { readonly measured: number; readonly predicted: number };
  readonly predicted: Answer | undefined;
  readonly simulated: Answer | undefined;
}

interface Answer {
  readonly hitRate: number;
  /** Bytes that the disk reads for a token: measured, the operating system's count of the process. */
  readonly readBytes: number;
  /** Mean seconds of the tokens that count. */
  readonly tokenSeconds: number;
}

/** A policy, the tokens that it is tried on, and the machine. */
export interface ExpertsCell {
  readonly policy: ExpertsPolicy;
  readonly routing: Routing;
  readonly tokens: number;
  readonly warmUp: number;
  readonly known: KnownMachine;
}

/** A cell by the closed form, and by a simulation that knows how throttles work. */
export function expectedOf({ policy, routing, tokens, warmUp, known }: ExpertsCell) {
  const { mixture, seconds, disk, available, buffers, unthrottled, pageSeconds } = known;
  const one: ExpertsCase = {
    ...{ mixture, seconds, disk, policy },
    memory: {
      available,
      buffers,
      dense: 'anonymous',
      pressure: PRESSURES.linux,
      readAhead: 'exact',
      reclaim: 'two-lists',
      pageRates: { submitted: 1 / pageSeconds, mapped: Number.POSITIVE_INFINITY, released: Number.POSITIVE_INFINITY },
      copyRate: COPY_RATE,
    },
  };
  const own = tokensOf(routing, 0, tokens);
  const throttle =
    unthrottled === undefined ? {} : { throttle: { sliceSeconds: LINUX_SLICE_SECONDS, diskRate: unthrottled } };
  const simulated = simulateExperts({ one, routing: own, outputTokens: tokens, warmUp, record: 'tokens', ...throttle });
  return { predicted: predictedOf(one, own, unthrottled), simulated };
}

/** A measured cell next to its replay, its prediction and its simulation. */
export function answersOf(cell: ExpertsCell, measured: GroupMeasured): ExpertsRow {
  const { policy, routing, tokens, warmUp } = cell;
  const counted = tokens - warmUp;
  const tokenSeconds = mean(measured.seconds);
  const { needs, reads, wrong, bytes, waited } = measured.reads;
  const { predicted, simulated } = expectedOf(cell);
  return {
    policy,
    measured: {
      hitRate: 1 - reads / needs,
      readBytes: (measured.processBytes ?? bytes) / counted,
      tokenSeconds,
    },
    computeSeconds: { measured: tokenSeconds - waited / counted, predicted: predicted.computeSeconds },
    askedBytes: bytes / counted,
    groupBytes: measured.groupBytes,
    wrong,
    accesses: measured.accesses.length,
    different: policy.method === 'mmap' ? undefined : differences(policy, routing, measured.accesses),
    simulated: simulated.shortage === undefined ? simulated : undefined,
    predicted: predicted.shortage === undefined ? predicted : undefined,
  };
}

/** Over many tokens a throttle makes up for the time in which less is read (DiskThrottle): its rate counts alone. */
function predictedOf(one: ExpertsCase, routing: Routing, unthrottled: number | undefined): PredictedExperts {
  const disk = { ...one.disk, bandwidth: unthrottled ?? one.disk.bandwidth };
  const predicted = predictExperts({ ...one, disk }, { kind: 'recorded', routing });
  return {
    ...predicted,
    tokenSeconds: Math.max(predicted.tokenSeconds, predicted.readBytes / one.disk.bandwidth),
  };
}

/** Accesses whose reads differ from those of the policy's caches, access by access. */
export function differences(
  policy: ExpertsPolicy,
  { layers, experts }: Routing,
  accesses: readonly ExpertAccess[],
): number {
  const caches = createExpertCaches({ policy, slots: policy.slots as number, layers, experts });
  return accesses.filter(({ layer, kind, experts: asked, read }) => {
    const expected = caches[kind](layer, asked).map(({ unit }) => unit - caches.unitOf(layer, 0));
    return expected.length !== read.length || expected.some((expert, index) => expert !== read[index]);
  }).length;
}

const answer = (
  title: string,
  key: string,
  unit: 'share' | 'bytes' | 'seconds',
  value: (answer: Answer) => number,
): Column<ExpertsRow>[] =>
  (['measured', 'predicted', 'simulated'] as const).map((whose) => ({
    title: whose === 'measured' ? `${title},\nmeasured` : whose,
    key: `${key}_${whose}`,
    value: (row) => row[whose] && value(row[whose]),
    unit,
  }));

export const EXPERTS_COLUMNS: readonly Column<ExpertsRow>[] = [
  { title: 'policy', key: 'policy', value: ({ policy }) => policyName(policy), wraps: true },
  ...answer('a token', 'token_s', 'seconds', ({ tokenSeconds }) => tokenSeconds),
  ...answer('hits', 'hit_rate', 'share', ({ hitRate }) => hitRate),
  { key: 'accesses', value: ({ accesses }) => accesses },
  { title: 'other\nthan\nreplayed', key: 'different', value: ({ different }) => different, unit: 'count' },
  ...answer('bytes a token', 'read_bytes', 'bytes', ({ readBytes }) => readBytes),
  { key: 'read_bytes_asked', value: ({ askedBytes }) => askedBytes },
  { key: 'read_bytes_group', value: ({ groupBytes }) => groupBytes },
  { key: 'wrong', value: ({ wrong }) => wrong },
  { key: 'compute_s_measured', value: ({ computeSeconds }) => computeSeconds.measured },
  { key: 'compute_s_predicted', value: ({ computeSeconds }) => computeSeconds.predicted },
];
