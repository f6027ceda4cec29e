import type { CacheFile, CacheJob, KeyValueCache } from '../key-value-cache.ts';
import type { Program } from './program.ts';

/** A file of equal pieces, by place. */
export interface ScratchFile {
  /** @throws InputError if the disk is full or fails, as `read` does */
  write(place: number, data: Uint32Array): void;
  /** Begins to read a place into memory, so that `read` finds it there. */
  prefetch(place: number): void;
  read(place: number, data: Uint32Array): void;
  close(): void;
}

export interface CacheMemoryOptions {
  readonly device: GPUDevice;
  readonly program: Program;
  /** The buffer of a cache. */
  readonly bufferOf: (cache: KeyValueCache) => GPUBuffer;
  /** Called with what `Kernels.read` must wait for. */
  readonly onPending: (arrival: Promise<void>) => void;
  /** Bytes of RAM, beyond which the oldest caches go to the scratch file, which is opened then. */
  readonly ram: number;
  readonly openScratch: () => ScratchFile;
}

/**
 * Caches that were evicted from a GPU, in RAM, and the oldest of them in a file. The queue keeps the order: a cache may
 * be written again at once, and operations that follow `read` see what was read. What was written can be read after the
 * next `Kernels.read`, for which alone this thread can wait.
 */
export function cacheMemory(options: CacheMemoryOptions): CacheFile {
  const { device, program, bufferOf, onPending, ram, openScratch } = options;
  /** In the order in which they were written. */
  const inRam = new Map<number, Uint32Array<ArrayBuffer>>();
  const inFile = new Set<number>();
  let opened: ScratchFile | undefined;
  const scratch = (): ScratchFile => {
    opened ??= openScratch();
    return opened;
  };
  const now = (): CacheJob => {
    const at = performance.now() / 1000;
    const outcome = { start: at, end: at };
    return { wait: () => outcome, poll: () => outcome };
  };
  const keep = (place: number, data: Uint32Array<ArrayBuffer>): void => {
    inRam.set(place, data);
    for (const [oldest, values] of inRam) {
      if (inRam.size * data.byteLength <= ram) return;
      scratch().write(oldest, values);
      inRam.delete(oldest);
      inFile.add(oldest);
    }
  };
  const upload = (cache: KeyValueCache, data: Uint32Array<ArrayBuffer>): void => {
    program.submit();
    device.queue.writeBuffer(bufferOf(cache), 0, data);
  };
  /** Is read when it is waited for; the disk begins earlier. */
  const readLater = (cache: KeyValueCache, place: number): CacheJob => {
    const begun = performance.now() / 1000;
    let outcome: { readonly start: number; readonly end: number } | undefined;
    scratch().prefetch(place);
    const wait = () => {
      if (outcome !== undefined) return outcome;
      const data = new Uint32Array(bufferOf(cache).size / 4);
      scratch().read(place, data);
      upload(cache, data);
      outcome = { start: begun, end: performance.now() / 1000 };
      return outcome;
    };
    return { wait, poll: () => outcome };
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
      inRam.delete(place);
      inFile.delete(place);
      const arrive = async (): Promise<void> => {
        await staging.mapAsync(GPUMapMode.READ);
        const data = new Uint32Array(staging.getMappedRange().slice(0));
        staging.destroy();
        keep(place, data);
      };
      onPending(arrive());
      return now();
    },
    read(cache, place) {
      if (inFile.has(place)) return readLater(cache, place);
      const data = inRam.get(place);
      if (data === undefined) throw new RangeError(`cache ${place} has not arrived in RAM`);
      upload(cache, data);
      return now();
    },
    close() {
      inRam.clear();
      inFile.clear();
      opened?.close();
      opened = undefined;
    },
  };
}
