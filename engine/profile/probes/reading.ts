import type { NativeAddon, NativeEngine } from '../../kernels/native/addon.ts';
import { clockFor } from '../processor-clock.ts';
import { secondsPerUnit } from './bench.ts';

/** Unit in which threads read (native/probes/limits.cpp). */
const CHUNK_BYTES = 2 ** 20;

/** Measures the bytes per second of repeatedly reading `bytes` bytes of RAM with the widest instructions. */
export function readingRate(
  addon: NativeAddon,
  threads: number,
  bytes: number,
): { measure: () => Promise<number>; close(): void } {
  const { opened, clock } = clockFor(() => new addon.Engine('auto', threads, false, false));
  const whole = Math.max(1, Math.floor(bytes / CHUNK_BYTES)) * CHUNK_BYTES;
  const [vector] = opened.vector(whole / Float32Array.BYTES_PER_ELEMENT);
  const perRead = secondsPerUnit(clock, (units) => () => readOften(opened, vector, whole, units));
  return { measure: async () => whole / (await perRead()), close: () => opened.close() };
}

function readOften(engine: NativeEngine, vector: number, bytes: number, times: number): void {
  for (let time = 0; time < times; time++) engine.readBandwidth(vector, 0, bytes);
}
