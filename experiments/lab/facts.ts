import { readFileSync } from 'node:fs';
import { shareBytes } from '../../datasets/lab/cell.ts';
import type { LabFacts } from '../../datasets/lab/facts.ts';
import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Lab } from './lab.ts';
import { runInLab } from './ring.ts';

/** Tokens of the probing run; the first two, which read the weights, are not counted. */
const TOKENS = 12;
const NOT_COUNTED = 2;

const UNLIMITED = { memory: 2 ** 42, diskRate: 1e12 };

/**
 * Runs a plan with as much memory as it wants.
 * @param file the whole model
 */
export async function probeLab(
  lab: Lab,
  model: Model,
  file: string,
  plan: Plan,
  { cpu, disk }: Pick<Device, 'cpu' | 'disk'>,
): Promise<LabFacts> {
  const limits = lab.cluster.devices.map((device) => ({ ...UNLIMITED, cores: device.cpu.cores }));
  const { trace, ownBytes = [] } = await runInLab(lab, { model: file, plan, tokens: TOKENS, limits, watched: true });
  const tokens = trace.tokens.slice(NOT_COUNTED);
  const pages = lab.devices.map((name) => PAGE_TABLES * shareBytes(plan, model, name));
  return {
    cpu,
    wholeDiskRate: disk.sequential,
    randomRate: disk.random,
    ownBytes: ownBytes.map((bytes, index) => Math.max(0, bytes - (pages[index] as number))),
    hopSeconds: meanHopSeconds(trace),
    linkBandwidth: lab.cluster.link(0, 1).bandwidth,
    readAhead: 1024 * Number(readFileSync(`/sys/dev/block/${lab.ground.disk}/queue/read_ahead_kb`, 'utf8')),
    tokenSeconds: tokens.reduce((sum, { start, end }) => sum + end - start, 0) / tokens.length,
  };
}

/** The mean over all hops of the counted tokens: errors of the devices' clocks cancel out around the ring. */
function meanHopSeconds({ spans, tokens }: Trace): number {
  const from = tokens[NOT_COUNTED]?.start ?? 0;
  const windows = spans.filter(({ lane, cause, start }) => lane === 'cpu' && cause === 'compute' && start >= from);
  const sorted = windows.toSorted((a, b) => a.start - b.start);
  const gaps = sorted.slice(1).flatMap(({ device, start }, index) => {
    const before = sorted[index];
    return before === undefined || before.device === device ? [] : [start - before.end];
  });
  return gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
}
