import { formatBytes, formatDeviation, formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { planShares } from '../../engine/plan/plan.ts';
import { decodedTokens } from '../../engine/trace/excerpt.ts';
import type { DeviceMetrics } from '../../engine/trace/metrics.ts';
import type { SimulatedDevice } from '../../simulator/result.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { modelText, rateColumn } from '../report/model-text.ts';
import { HOW_TO_READ, timelineBlocks } from '../timeline/blocks.ts';
import type { Replay } from './replay.ts';

/** One of the answers. */
interface Answer {
  readonly name: string;
  readonly tokenSeconds: number | undefined;
  readonly p50?: number | undefined;
  readonly p95?: number | undefined;
  readonly firstTokenSeconds?: number | undefined;
  readonly readPerToken: number;
}

const ANSWERS: readonly Column<Answer>[] = [
  { title: 'answer', value: ({ name }) => name },
  { title: 'TPOT', value: ({ tokenSeconds }) => tokenSeconds, unit: 'seconds' },
  rateColumn(({ tokenSeconds }) => tokenSeconds),
  { title: 'p50', value: ({ p50 }) => p50, unit: 'seconds' },
  { title: 'p95', value: ({ p95 }) => p95, unit: 'seconds' },
  { title: 'TTFT', value: ({ firstTokenSeconds }) => firstTokenSeconds, unit: 'seconds' },
  { title: 'read per token', value: ({ readPerToken }) => readPerToken, unit: 'bytes' },
];

/** Predicted without and with overlap, and simulated, one row each. */
export function summaryTable({ predicted, overlapped, metrics, readPerToken }: Replay): Table<Answer> {
  const { tokenSeconds, tokenSecondsP50: p50, tokenSecondsP95: p95, firstTokenSeconds } = metrics;
  return {
    columns: ANSWERS,
    rows: [
      { name: 'predicted (A.3)', tokenSeconds: predicted.tokenSeconds, readPerToken: predicted.reloadedBytes },
      ...(overlapped === undefined
        ? []
        : [
            {
              name: 'predicted with overlap',
              tokenSeconds: overlapped.tokenSeconds,
              readPerToken: overlapped.readBytes,
            },
          ]),
      { name: 'simulated', tokenSeconds, p50, p95, firstTokenSeconds, readPerToken },
    ],
  };
}

/** The work of every device in the simulation, over the whole run. */
export function devicesTable({ plan, metrics, simulated }: Replay): Table<SimulatedDevice> {
  const shares = new Map(planShares(plan).map((share) => [share.device, share]));
  const own = ({ device }: SimulatedDevice): DeviceMetrics =>
    metrics.devices.find((one) => one.device === device) as DeviceMetrics;
  const layers = ({ device }: SimulatedDevice): string => {
    const share = shares.get(device);
    return share === undefined ? '0' : `${share.cpuLayers}+${share.gpuLayers}`;
  };
  const busy = (title: string, lane: string): Column<SimulatedDevice> => ({
    title: `${title}\nbusy`,
    value: ({ device }) => {
      const found = metrics.lanes.find((one) => one.device === device && one.lane === lane);
      return found === undefined ? '–' : found.utilisation;
    },
    unit: 'share',
  });
  return {
    columns: [
      { title: 'device', value: ({ device }) => device },
      { title: 'layers\nCPU+GPU', value: layers, align: 'right' },
      { title: 'weights policy', value: ({ device }) => policyText(plan.weights[device]) },
      busy('CPU', 'cpu'),
      busy('GPU', 'gpu'),
      busy('disk', 'disk'),
      busy('link', 'link'),
      { title: 'waits for\nthe disk', value: (device) => own(device).stallSeconds, unit: 'seconds' },
      { title: 'waits for\nothers', value: (device) => own(device).bubbleSeconds, unit: 'seconds' },
      { title: 'read by\nfaults', value: ({ faultedBytes }) => faultedBytes, unit: 'bytes' },
      { title: 'by pre-\nfetching', value: ({ prefetchedBytes }) => prefetchedBytes, unit: 'bytes' },
      { title: 'reloaded', value: ({ counters }) => counters.reloaded, unit: 'bytes' },
      { title: 'memory\npressure', value: pressure, unit: 'share' },
    ],
    rows: simulated.devices,
  };
}

/** Memory that can't be reclaimed over the memory installed (prima.cpp 4.3). */
export function pressure({ nonReclaimableBytes, memoryTotal }: SimulatedDevice): number {
  return nonReclaimableBytes / memoryTotal;
}

function policyText(policy: Replay['plan']['weights'][string] | undefined): string {
  if (policy === undefined) return '–';
  const { prefetch, release } = policy;
  if (prefetch === 'none' && release === 'none') return 'left to the OS';
  if (policy.release !== 'pinned') return `${prefetch}, ${release}`;
  return `${prefetch}, ${policy.pinned === 'fit' ? 'as much pinned as fits' : `${formatBytes(policy.pinned)} pinned`}`;
}

/** The page of a replay. @param show tokens that the timeline shows, the last ones */
export function replayPage(run: Replay, show: number): NonNullable<Results['page']> {
  const { simulated, workload } = run;
  const first = Math.max(0, workload.outputTokens - show);
  const title =
    first === workload.outputTokens - 1 ? 'The last token' : `The last ${workload.outputTokens - first} tokens`;
  return {
    title: `${modelText(run.model)}, on ${run.cluster.name}, event by event`,
    sections: [
      {
        title: 'Predicted and simulated',
        blocks: [
          tableBlock(summaryTable(run)),
          tableBlock(devicesTable(run), { title: 'Devices, over the whole run' }),
        ],
      },
      {
        title: 'What happened when',
        blocks: [
          { kind: 'text', text: HOW_TO_READ },
          ...timelineBlocks([{ title, trace: decodedTokens(simulated.trace, first, show) }]),
        ],
      },
    ],
  };
}

/** How the simulation differs from the prediction, in sentences. */
export function finding({ predicted, overlapped, simulated, metrics }: Replay): string {
  const { tokenSeconds = Number.NaN } = metrics;
  const stalls = metrics.devices.reduce((sum, { stallSeconds }) => sum + stallSeconds, 0);
  const disk = simulated.devices.reduce((sum, { diskSeconds }) => sum + diskSeconds, 0);
  const overlap =
    overlapped === undefined
      ? ''
      : `, and ${formatDeviation(tokenSeconds / overlapped.tokenSeconds)} compared with the closed form with overlap`;
  const token = `A simulated token takes ${formatSeconds(tokenSeconds)}, ${formatDeviation(tokenSeconds / predicted.tokenSeconds)} compared with the closed forms without overlap${overlap}.`;
  if (disk === 0) return `${token} Nothing is read from a disk.`;
  const hidden = formatPercent(Math.max(0, 1 - stalls / disk));
  return `${token} Other work hides ${hidden} of the time in which disks read; computations wait for a disk during ${formatPercent(stalls / metrics.seconds)} of the run.`;
}
