import type { CacheFile, CacheJob, KeyValueCache } from '../key-value-cache.ts';
import type { Program } from './program.ts';

export interface CacheMemoryOptions {
  readonly device: GPUDevice;
  readonly program: Program;
  /** The buffer of a cache. */
  readonly bufferOf: (cache: KeyValueCache) => GPUBuffer;
  /** Called with what `Kernels.read` must wait for. */
  readonly onPending: (arrival: Promise<void>) => void;
}

/**
 * Caches that were evicted from a GPU, in RAM. The queue keeps the order: a cache may be written again at once, and
 * operations that follow `read` see what was read. What was written can be read after the next `Kernels.read`, for which
 * alone this thread can wait.
 */
export function cacheMemory({ device, program, bufferOf, onPending }: CacheMemoryOptions): CacheFile {
  const places = new Map<number, Uint32Array<ArrayBuffer>>();
  const now = (): CacheJob => {
    const at = performance.now() / 1000;
    const outcome = { start: at, end: at };
    return { wait: () => outcome, poll: () => outcome };
  };
  return {
    write(cache, place) {
      const source = bufferOf(cache);
      const staging = device.createBuffer({
        label: 'evicted KV page',
        size: source.size,
        usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      });
      program.copy(source, 0, staging, source.size);
      program.submit();
      places.delete(place);
      const arrive = async (): Promise<void> => {
        await staging.mapAsync(GPUMapMode.READ);
        places.set(place, new Uint32Array(staging.getMappedRange().slice(0)));
        staging.destroy();
      };
      onPending(arrive());
      return now();
    },
    read(cache, place) {
      const data = places.get(place);
      if (data === undefined) throw new RangeError(`cache ${place} has not arrived in RAM`);
      program.submit();
      device.queue.writeBuffer(bufferOf(cache), 0, data);
      return now();
    },
    close() {
      places.clear();
    },
  };
}
