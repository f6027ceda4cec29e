import { type LayerSeconds, totalLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';

/** Factor by which the next computation of a processor takes longer than modelled; drawn anew at every call. */
export type Noise = (device: string, processor: string) => number;

/**
 * Log-normal factors with mean 1, from a random stream per processor.
 * @param relative standard deviation of the factor's logarithm, close to the coefficient of variation if it is small
 */
export function createNoise(seed: number, relative: number): Noise {
  if (relative === 0) return () => 1;
  const streams = new Map<string, ReturnType<typeof randomStream>>();
  return (device, processor) => {
    const name = `${device}/${processor}`;
    const stream = streams.get(name) ?? randomStream(seed, name);
    streams.set(name, stream);
    return Math.exp(relative * stream.normal() - relative ** 2 / 2);
  };
}

export interface Computing {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly noise: Noise;
}

/** A piece of computing, and its processor. */
export interface Work {
  readonly device: string;
  readonly lane: ProcessorKind;
  /** Name of the span in the trace. */
  readonly name: string;
  /** Modelled seconds, by cause. */
  readonly seconds: LayerSeconds;
}

/** Work that has been started; its weights may still have to be read. */
export interface Computation extends Work {
  /** Noise, by which the modelled seconds are multiplied. */
  readonly factor: number;
  /** Seconds of the computation once its weights are in memory. */
  readonly total: number;
  /** When the computation was started. */
  readonly start: number;
}

/**
 * Seconds of a computation once its weights are in memory: its modelled seconds with noise, drawn anew at every call.
 */
export function computingSeconds({ noise }: Pick<Computing, 'noise'>, work: Omit<Work, 'name'>): number {
  return noise(work.device, work.lane) * totalLayerSeconds(work.seconds);
}

export function startComputation({ noise, simulation }: Computing, work: Work): Computation {
  const { device, lane, name, seconds } = work;
  const factor = noise(device, lane);
  const total = factor * totalLayerSeconds(seconds);
  return { device, lane, name, seconds, factor, total, start: simulation.now };
}

/**
 * Does the last `left` seconds of a computation whose weights are in memory, and records a span for every cause. Before
 * them comes the stall: the seconds by which the computation took longer because its weights had to be read.
 */
export function* finishComputation(computing: Computing, computation: Computation, left: number): Steps {
  const { recorder, simulation } = computing;
  const { device, lane, name, seconds, factor, total, start: begin } = computation;
  const stall = simulation.now - begin - (total - left);
  yield hold(left);
  if (!recorder.wantsSpans) return;
  let start = begin;
  if (stall > ROUNDING * total) {
    start += stall;
    recorder.span({ device, lane, cause: 'disk', name: `waits for ${name}`, start: begin, end: start, args: {} });
  }
  for (const cause of RECORDED) {
    const end = start + factor * seconds[cause];
    if (cause === 'overhead' && end === start) continue;
    recorder.span({ device, lane, cause, name, start, end, args: {} });
    start = end;
  }
}

/** Smaller differences of times, relative to the computation, are rounding. */
const ROUNDING = 1e-9;

/** Causes in the order of their spans. */
const RECORDED = ['memory', 'compute', 'kvCopy', 'overhead'] as const;

/** A computation whose weights are in memory. */
export function* compute(computing: Computing, work: Work): Steps {
  const computation = startComputation(computing, work);
  yield* finishComputation(computing, computation, computation.total);
}
