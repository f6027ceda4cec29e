import { type LayerSeconds, totalLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { Noise } from '../hardware/noise.ts';
import type { Recorder } from '../recorder.ts';

export interface Computing {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly noise: Noise;
}

/** A computation that has been asked for. */
export interface Computation {
  readonly device: string;
  readonly lane: ProcessorKind;
  readonly name: string;
  readonly seconds: LayerSeconds;
  /** By which they are multiplied: noise. */
  readonly factor: number;
  /** How long it takes once its weights are there. */
  readonly total: number;
  /** When it was asked for. */
  readonly asked: number;
}

/** How long a computation takes once its weights are there: its modelled seconds with noise, drawn anew at every call. */
export function computingSeconds(
  { noise }: Pick<Computing, 'noise'>,
  device: string,
  lane: ProcessorKind,
  seconds: LayerSeconds,
): number {
  return noise(device, lane) * totalLayerSeconds(seconds);
}

/** A computation is asked for; its weights may have to come yet. */
export function askFor(
  { noise, simulation }: Computing,
  device: string,
  lane: ProcessorKind,
  seconds: LayerSeconds,
  name: string,
): Computation {
  const factor = noise(device, lane);
  const total = factor * totalLayerSeconds(seconds);
  return { device, lane, name, seconds, factor, total, asked: simulation.now };
}

/**
 * Its weights are there, and `left` seconds of it are still to be done. Written down cause by cause, and before them
 * the stall: how much longer it took because its weights had to come.
 */
export function* finish({ recorder, simulation }: Computing, computation: Computation, left: number): Steps {
  const { device, lane, name, seconds, factor, total, asked } = computation;
  const stall = simulation.now - asked - (total - left);
  yield hold(left);
  if (!recorder.wantsSpans) return;
  let start = asked;
  if (stall > ROUNDING * total) {
    start += stall;
    recorder.span({ device, lane, cause: 'disk', name: `waits for ${name}`, start: asked, end: start, args: {} });
  }
  for (const cause of WRITTEN) {
    const end = start + factor * seconds[cause];
    if (cause === 'overhead' && end === start) continue;
    recorder.span({ device, lane, cause, name, start, end, args: {} });
    start = end;
  }
}

/** Below it, a difference of times is none. */
const ROUNDING = 1e-9;

/** In the order in which they are drawn. */
const WRITTEN = ['memory', 'compute', 'kvCopy', 'overhead'] as const;

/** A computation whose weights are there. */
export function* compute(
  computing: Computing,
  device: string,
  lane: ProcessorKind,
  seconds: LayerSeconds,
  name: string,
): Steps {
  const computation = askFor(computing, device, lane, seconds, name);
  yield* finish(computing, computation, computation.total);
}
