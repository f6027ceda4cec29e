import { DEFAULT_READ_AHEAD } from '../engine/cost/reclaim.ts';
import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import { deviceKind, readsAhead } from '../engine/hardware/device.ts';
import { formatBytes, formatPercent, formatSeconds } from '../engine/input/format.ts';
import { cachesExperts, type Plan } from '../engine/plan/plan.ts';
import { isSimulated, memoryOf } from '../planner/best-plan.ts';
import { closedFormSeconds } from '../planner/candidates.ts';
import { planningProblem, type Question } from '../planner/question.ts';
import { simulatedTokenSeconds } from '../planner/simulated-times.ts';
import { WORTH_SAYING } from './read-ahead-notice.ts';

/** A device whose read-ahead makes a plan slower than another would. */
export interface ReadAheadCost {
  readonly device: string;
  /** Bytes that its operating system reads ahead of page faults, and that it should. */
  readonly readAhead: number;
  readonly better: number;
  /** Seconds of a token with either. */
  readonly seconds: number;
  readonly betterSeconds: number;
}

/** Read-ahead that is tried, bytes; of equals the shortest is proposed. */
const TRIED = [DEFAULT_READ_AHEAD, 2 ** 19, 2 ** 21, 2 ** 23];

/**
 * Devices of a plan that stream weights and state how far they read ahead, where another read-ahead saves more than a
 * fifth of a token's time: by simulation, or by closed form where experts are cached, as plans are ranked.
 */
export function readAheadCosts(question: Question, plan: Plan): ReadAheadCost[] {
  const stated = question.cluster.devices.filter(
    (device) => device.disk.readAhead !== undefined && readsAhead(deviceKind(device)),
  );
  if (stated.length === 0 || !(cachesExperts(plan) || isSimulated(question, plan))) return [];
  const reading = memoryOf(question, plan).devices.filter(({ reloadedBytes }) => reloadedBytes > 0);
  const streaming = stated.filter(({ name }) => reading.some(({ device }) => device === name));
  if (streaming.length === 0) return [];
  const seconds = secondsOf(question, plan);
  return streaming.flatMap(({ name, disk }) => {
    const tries = TRIED.map((readAhead) => ({
      readAhead,
      seconds: secondsOf({ ...question, cluster: withReadAhead(question.cluster, name, readAhead) }, plan),
    }));
    const best = tries.reduce((one, other) => (other.seconds < one.seconds ? other : one));
    if (!(best.seconds < (1 - WORTH_SAYING) * seconds)) return [];
    const readAhead = disk.readAhead as number;
    return [{ device: name, readAhead, better: best.readAhead, seconds, betterSeconds: best.seconds }];
  });
}

/** A line with the cost, and the command that changes it. */
export function readAheadText({ device, readAhead, better, seconds, betterSeconds }: ReadAheadCost): string {
  const share = formatPercent(1 - betterSeconds / seconds);
  const times = `${formatSeconds(seconds)}, ${formatSeconds(betterSeconds)} with ${formatBytes(better)}`;
  return `${device} reads ${formatBytes(readAhead)} ahead of page faults, which costs ${share} of a token’s time (${times}): echo ${better / 1024} | sudo tee /sys/block/DISK/queue/read_ahead_kb`;
}

function secondsOf(question: Question, plan: Plan): number {
  const { cluster, model, workload } = question;
  if (!cachesExperts(plan)) return simulatedTokenSeconds(question, plan);
  return closedFormSeconds(planningProblem({ belief: cluster, model, workload }), plan);
}

function withReadAhead(cluster: Cluster, name: string, readAhead: number): Cluster {
  const devices = cluster.devices.map((one) =>
    one.name === name ? { ...one, disk: { ...one.disk, readAhead } } : one,
  );
  return createCluster({ ...cluster, devices });
}
