import { type Breakdown, CAUSES, type Cause, type DeviceBreakdown, type StageBreakdown } from '../cost/breakdown.ts';
import {
  type Counter,
  LANES,
  type Lane,
  type Span,
  type SpanArguments,
  type Trace,
  type TracedDevice,
} from './trace.ts';

/** The order of causes within a stage: weights arrive, the processor works on them, the result moves on. */
const STAGE_ORDER: Readonly<Record<Cause, number>> = {
  disk: 0,
  overhead: 1,
  memory: 2,
  compute: 3,
  kvCopy: 4,
  deviceCopy: 5,
  link: 6,
};

/**
 * The predicted token as a trace. Stages and their causes follow each other without overlap (prima.cpp Eq. 11), and
 * computations wait for the disk. A prediction has sums only, so one span stands for all of a stage's uses of disk or
 * link, and the output layer's spans include the embedding at the start of the token.
 */
export function traceOfBreakdown(breakdown: Breakdown): Trace {
  const causes = CAUSES.toSorted((a, b) => STAGE_ORDER[a] - STAGE_ORDER[b]);
  const spans: Span[] = [];
  let now = 0;
  let nextLayer = 0;
  for (const stage of breakdown.stages) {
    const name = stage.name ?? stageName(stage, nextLayer);
    nextLayer += stage.layers;
    for (const cause of causes) {
      const seconds = stage.seconds[cause];
      if (seconds === 0) continue;
      const span = { device: stage.device, cause, start: now, end: now + seconds };
      if (cause === 'disk') {
        const args = diskArguments(stage, breakdown.devices);
        spans.push({ ...span, lane: 'disk', name: 'page fault', args });
        spans.push({ ...span, lane: stage.processor, name: `waits for ${name}`, args: {} });
      } else spans.push({ ...span, lane: laneOf(stage, cause), name, args: {} });
      now += seconds;
    }
  }
  return {
    devices: breakdown.devices.map(({ device }) => tracedDevice(device, spans)),
    spans,
    tokens: [{ phase: 'decode', start: 0, end: now }],
    counters: breakdown.devices.flatMap(memoryCounters),
  };
}

function stageName({ output, layers }: StageBreakdown, from: number): string {
  if (output) return 'output';
  return layers === 1 ? `layer ${from}` : `layers ${from}–${from + layers - 1}`;
}

/** The lane of a cause. Copies between CPU and GPU occupy the GPU, whichever processor the stage runs on. */
function laneOf(stage: StageBreakdown, cause: Exclude<Cause, 'disk'>): Lane {
  if (cause === 'link') return cause;
  return cause === 'deviceCopy' ? 'gpu' : stage.processor;
}

/** The stage's share of the bytes that its device reloads, in proportion to its disk time. */
function diskArguments(stage: StageBreakdown, devices: readonly DeviceBreakdown[]): SpanArguments {
  const device = devices.find((candidate) => candidate.device === stage.device);
  if (device === undefined || device.reloadedBytes === 0) return {};
  return { bytes: (device.reloadedBytes * stage.seconds.disk) / device.seconds.disk };
}

function tracedDevice(name: string, spans: readonly Span[]): TracedDevice {
  const used = new Set(spans.filter((span) => span.device === name).map((span) => span.lane));
  return { name, lanes: LANES.filter((lane) => used.has(lane)) };
}

/** Bytes of RAM and VRAM that the plan needs, constant throughout the token. */
function memoryCounters({ device, ramBytes, vramBytes }: DeviceBreakdown): Counter[] {
  const constant = (name: string, value: number): Counter => ({ device, name, samples: [{ time: 0, value }] });
  return [constant('RAM (bytes)', ramBytes), ...(vramBytes > 0 ? [constant('VRAM (bytes)', vramBytes)] : [])];
}
