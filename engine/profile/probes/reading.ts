import type { NativeAddon, NativeEngine } from '../../kernels/native/addon.ts';
import { clockFor } from '../processor-clock.ts';
import { secondsPerUnit } from './bench.ts';

/** Whole chunks of what threads read at once (native/probes/limits.cpp). */
const CHUNK_BYTES = 2 ** 20;

/** Bytes per second of reading so many bytes of RAM again and again with the widest instructions, and nothing else. */
export function readingRate(
  addon: NativeAddon,
  threads: number,
  bytes: number,
): { measure: () => number; close(): void } {
  const { opened, clock } = clockFor(() => new addon.Engine('auto', threads, false));
  const whole = Math.max(1, Math.floor(bytes / CHUNK_BYTES)) * CHUNK_BYTES;
  const [vector] = opened.vector(whole / Float32Array.BYTES_PER_ELEMENT);
  const perRead = secondsPerUnit(clock, (units) => () => readOften(opened, vector, whole, units));
  return { measure: () => whole / perRead(), close: () => opened.close() };
}

function readOften(engine: NativeEngine, vector: number, bytes: number, times: number): void {
  for (let time = 0; time < times; time++) engine.readBandwidth(vector, 0, bytes);
}
