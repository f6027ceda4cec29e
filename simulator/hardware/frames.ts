import type { Span } from '../../engine/trace/trace.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { GpuQueue } from './chip.ts';

/** Another program on a chip's GPU, which renders frames of one size. */
export interface FrameSource {
  /** Seconds until the first frame is submitted. */
  readonly first: number;
  /** Seconds from one frame to the next: 1/60 at 60 Hz. */
  readonly interval: number;
  /** Seconds of the GPU's work for a frame, with the memory to itself, and the bytes that it moves. */
  readonly seconds: number;
  readonly bytes: number;
  /** Frames that may wait or be drawn at once, as many as the display has spare buffers; later ones are skipped. */
  readonly inFlight: number;
}

const NAME = 'frame';

/** Submits frames to the GPU's queue for ever, behind whatever is queued. */
export function* submitFrames(
  { simulation, gpu }: { readonly simulation: Simulation; readonly gpu: GpuQueue },
  { first, interval, seconds, bytes, inFlight }: FrameSource,
): Steps {
  let open = 0;
  function* draw(name: string): Steps {
    open++;
    yield* gpu.render(name, { seconds, bytes });
    open--;
  }
  for (let index = 0; ; index++) {
    yield hold(first + index * interval - simulation.now);
    if (open < inFlight) simulation.spawn(`${NAME} ${index}`, draw(`${NAME} ${index}`));
  }
}

/** Frames that were finished within `bounds`, per second. */
export function frameRate(
  spans: readonly Span[],
  { start, end }: { readonly start: number; readonly end: number },
): number {
  const shown = spans.filter((span) => span.name.startsWith(`${NAME} `) && span.end > start && span.end <= end);
  return shown.length / (end - start);
}
