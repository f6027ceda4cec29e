import { planShares } from '../../engine/plan/plan.ts';
import { formatBytes, formatPercent, formatSeconds } from '../../engine/terminal/format.ts';
import { formatTable, type TableColumn } from '../../engine/terminal/table.ts';
import type { DeviceMetrics } from '../../engine/trace/metrics.ts';
import type { SimulatedDevice } from '../../simulator/result.ts';
import type { Replay } from './replay.ts';

const SUMMARY: readonly TableColumn[] = [
  { title: '' },
  { title: 'TPOT', align: 'right' },
  { title: 'p50', align: 'right' },
  { title: 'p95', align: 'right' },
  { title: 'TTFT', align: 'right' },
  { title: 'read per token', align: 'right' },
];

const DEVICES: readonly TableColumn[] = [
  { title: 'device' },
  { title: 'layers\nCPU+GPU', align: 'right' },
  { title: 'weights policy' },
  { title: 'CPU\nbusy', align: 'right' },
  { title: 'GPU\nbusy', align: 'right' },
  { title: 'disk\nbusy', align: 'right' },
  { title: 'link\nbusy', align: 'right' },
  { title: 'waits for\nthe disk', align: 'right' },
  { title: 'waits for\nothers', align: 'right' },
  { title: 'read by\nfaults', align: 'right' },
  { title: 'by pre-\nfetching', align: 'right' },
  { title: 'reloaded', align: 'right' },
  { title: 'memory\npressure', align: 'right' },
];

export const SUMMARY_COLUMNS = SUMMARY;
export const DEVICE_COLUMNS = DEVICES;

/** Predicted and simulated, one row each. */
export function summaryRows({ predicted, metrics, readPerToken }: Replay): string[][] {
  const time = (seconds: number | undefined): string => (seconds === undefined ? '' : formatSeconds(seconds));
  const { tokenSeconds, tokenSecondsP50, tokenSecondsP95, firstTokenSeconds } = metrics;
  return [
    ['predicted', formatSeconds(predicted.tokenSeconds), '', '', '', formatBytes(predicted.reloadedBytes)],
    [
      'simulated',
      ...[tokenSeconds, tokenSecondsP50, tokenSecondsP95, firstTokenSeconds].map(time),
      formatBytes(readPerToken),
    ],
  ];
}

/** What every device of the simulation did, over the whole run. */
export function deviceRows(run: Replay): string[][] {
  const shares = new Map(planShares(run.plan).map((share) => [share.device, share]));
  return run.simulated.devices.map((device) => {
    const own = run.metrics.devices.find((one) => one.device === device.device) as DeviceMetrics;
    const share = shares.get(device.device);
    const busy = (lane: string): string => {
      const found = run.metrics.lanes.find((one) => one.device === device.device && one.lane === lane);
      return found === undefined ? '–' : formatPercent(found.utilisation);
    };
    return [
      device.device,
      share === undefined ? '0' : `${share.cpuLayers}+${share.gpuLayers}`,
      policyText(run, device.device),
      ...['cpu', 'gpu', 'disk', 'link'].map(busy),
      formatSeconds(own.stallSeconds),
      formatSeconds(own.bubbleSeconds),
      ...[device.faultedBytes, device.prefetchedBytes, device.counters.reloaded].map(formatBytes),
      formatPercent(pressure(device)),
    ];
  });
}

/** Memory that can't be reclaimed over the memory installed (prima.cpp 4.3). */
export function pressure({ nonReclaimableBytes, memoryTotal }: SimulatedDevice): number {
  return nonReclaimableBytes / memoryTotal;
}

function policyText({ plan }: Replay, device: string): string {
  const policy = plan.weights[device];
  if (policy === undefined) return '–';
  const bytes = policy.release === 'pinned' ? policy.pinned : 0;
  const pinned = bytes === 'fit' ? 'as much pinned as fits' : `${formatBytes(bytes)} pinned`;
  if (policy.prefetch === 'none' && policy.release === 'none') return 'left to the OS';
  return `${policy.prefetch}, ${policy.release === 'pinned' ? pinned : policy.release}`;
}

/** What the terminal shows. */
export function replayTable(run: Replay): string {
  return `${formatTable(SUMMARY, summaryRows(run))}\n${formatTable(DEVICES, deviceRows(run), 140)}`;
}
