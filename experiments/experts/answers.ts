import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { predictExperts } from '../../engine/cost/experts/predict-experts.ts';
import { PRESSURES } from '../../engine/cost/experts/pressure.ts';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { type Routing, tokensOf } from '../../engine/experts/routing.ts';
import type { ExpertAccess } from '../../engine/runtime/weights/layer-experts.ts';
import { simulateExperts } from '../../simulator/systems/experts.ts';
import type { Column } from '../report/columns.ts';
import { median } from '../report/median.ts';
import { policyName } from './cells.ts';
import type { GroupMeasured } from './measure.ts';

/** Facts about mixture and machine that predictions and simulations start from. */
export interface KnownMachine extends Pick<ExpertsCase, 'mixture' | 'seconds' | 'disk'> {
  /** Bytes that a process may take, and what it takes besides experts and what every token uses. */
  readonly available: number;
  readonly buffers: number;
}

export interface ExpertsRow {
  readonly policy: ExpertsPolicy;
  readonly measured: { readonly hitRate: number; readonly readBytes: number; readonly tokenSeconds: number };
  /** Bytes of a token by the operating system's count of the process. */
  readonly processBytes: number | undefined;
  readonly groupBytes: number | undefined;
  readonly wrong: number;
  /** Accesses, and those whose reads differ from what the policy's caches say; `undefined` without slots. */
  readonly accesses: number;
  readonly different: number | undefined;
  readonly predicted: Answer | undefined;
  readonly simulated: Answer | undefined;
}

interface Answer {
  readonly hitRate: number;
  readonly readBytes: number;
  readonly tokenSeconds: number;
}

/** A measured cell next to its replay, its prediction and its simulation. */
export function answersOf(
  {
    policy,
    routing,
    tokens,
    warmUp,
    known,
  }: {
    readonly policy: ExpertsPolicy;
    readonly routing: Routing;
    readonly tokens: number;
    readonly warmUp: number;
    readonly known: KnownMachine;
  },
  measured: GroupMeasured,
): ExpertsRow {
  const counted = tokens - warmUp;
  const { needs, reads, wrong, bytes } = measured.reads;
  const { mixture, seconds, disk, available, buffers } = known;
  const one: ExpertsCase = {
    ...{ mixture, seconds, disk, policy },
    memory: {
      available,
      buffers,
      dense: 'anonymous',
      pressure: PRESSURES.linux,
      readAhead: READ_AHEAD,
      copyRate: COPY_RATE,
    },
  };
  const own = tokensOf(routing, 0, tokens);
  const simulated = simulateExperts({ one, routing: own, outputTokens: tokens, warmUp, record: 'tokens' });
  const predicted = predictExperts(one, { kind: 'recorded', routing: own });
  return {
    policy,
    measured: { hitRate: 1 - reads / needs, readBytes: bytes / counted, tokenSeconds: median(measured.seconds) },
    processBytes: measured.processBytes === undefined ? undefined : measured.processBytes / counted,
    groupBytes: measured.groupBytes,
    wrong,
    accesses: measured.accesses.length,
    different: policy.method === 'mmap' ? undefined : differences(policy, routing, measured.accesses),
    simulated: simulated.shortage === undefined ? simulated : undefined,
    predicted: predicted.shortage === undefined ? predicted : undefined,
  };
}

/** Bytes that Linux reads ahead unless told otherwise; reads of slots ask for exactly what they need. */
const READ_AHEAD = 131_072;
/** Assumed: file pages are copied at so many bytes per second. */
const COPY_RATE = 5e9;

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
  ...answer('hits', 'hit_rate', 'share', ({ hitRate }) => hitRate),
  { key: 'accesses', value: ({ accesses }) => accesses },
  { title: 'other\nthan\nreplayed', key: 'different', value: ({ different }) => different, unit: 'count' },
  ...answer('bytes a token', 'read_bytes', 'bytes', ({ readBytes }) => readBytes),
  { title: 'of the\nprocess', key: 'read_bytes_process', value: ({ processBytes }) => processBytes, unit: 'bytes' },
  { key: 'read_bytes_group', value: ({ groupBytes }) => groupBytes },
  { title: 'read for\nnothing', key: 'wrong', value: ({ wrong }) => wrong, unit: 'count' },
  ...answer('a token', 'token_s', 'seconds', ({ tokenSeconds }) => tokenSeconds),
];
