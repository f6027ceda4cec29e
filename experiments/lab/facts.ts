import { readFileSync } from 'node:fs';
import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import type { Cpu, Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Lab } from './lab.ts';
import { runInLab } from './ring.ts';
import { shareBytes } from './share-bytes.ts';

/** What probes find out about a lab: nothing that is judged is used. */
export interface LabFacts {
  /** Of every device: they share this machine's processors. */
  readonly cpu: Cpu;
  /** Of the disk that all devices' parts lie on, without a throttle, bytes per second. */
  readonly wholeDiskRate: number;
  /** Page faults here and there that read nothing ahead, without a throttle, bytes per second. */
  readonly randomRate: number;
  /** Bytes that the program takes on each device, beside weights and their page tables. */
  readonly ownBytes: readonly number[];
  /** Seconds from the end of a window to the beginning of the next device's, at the size of a token. */
  readonly hopSeconds: number;
  /** What links are held to, bytes per second. */
  readonly linkBandwidth: number;
  /** TPOT where everything is in memory. */
  readonly tokenSeconds: number;
  /** How far the kernel reads ahead of page faults on this disk (read_ahead_kb), bytes. */
  readonly readAhead: number;
}

/** Tokens of a probing run; those that count are after the first, which reads the weights. */
const TOKENS = 12;

const UNLIMITED = { memory: 2 ** 42, diskRate: 1e12 };

/** Runs a plan with all the memory that it wants. */
export async function probeLab(
  lab: Lab,
  model: Model,
  file: string,
  plan: Plan,
  { cpu, disk }: Pick<Device, 'cpu' | 'disk'>,
): Promise<LabFacts> {
  const limits = lab.cluster.devices.map((device) => ({ ...UNLIMITED, cores: device.cpu.cores }));
  const { trace, devices } = await runInLab(lab, { model: file, plan, tokens: TOKENS, limits, watched: true });
  const tokens = trace.tokens.slice(2);
  const pages = lab.cluster.devices.map(({ name }) => PAGE_TABLES * shareBytes(plan, model, name));
  return {
    cpu,
    wholeDiskRate: disk.sequential,
    randomRate: disk.random,
    ownBytes: devices.map(({ ownBytes }, index) => Math.max(0, ownBytes - (pages[index] as number))),
    hopSeconds: meanHopSeconds(trace),
    linkBandwidth: lab.cluster.link(0, 1).bandwidth,
    readAhead: 1024 * Number(readFileSync(`/sys/dev/block/${lab.ground.disk}/queue/read_ahead_kb`, 'utf8')),
    tokenSeconds: tokens.reduce((sum, { start, end }) => sum + end - start, 0) / tokens.length,
  };
}

/**
 * In decoded tokens but the first. A mean: what clocks are off by from device to device goes out over the ring, which
 * closes at the head.
 */
function meanHopSeconds({ spans, tokens }: Trace): number {
  const from = tokens[2]?.start ?? 0;
  const windows = spans.filter(({ lane, cause, start }) => lane === 'cpu' && cause === 'compute' && start >= from);
  const sorted = windows.toSorted((a, b) => a.start - b.start);
  const gaps = sorted.slice(1).flatMap(({ device, start }, index) => {
    const before = sorted[index];
    return before === undefined || before.device === device ? [] : [start - before.end];
  });
  return gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
}
