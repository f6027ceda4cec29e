/** Times compute passes by the device's own clock. */
export interface PassTimer {
  /** Begins with the next pass. */
  start(): void;
  /** Timestamps that the next pass is to write; `undefined` if it isn't timed. */
  writes(): GPUComputePassTimestampWrites | undefined;
  /** Seconds from the beginning of the first pass since `start` to the end of the last; all have been submitted. */
  seconds(): Promise<number>;
}

/** @param device with the feature `timestamp-query` */
export function createPassTimer(device: GPUDevice): PassTimer {
  const querySet = device.createQuerySet({ type: 'timestamp', count: 2 });
  const size = 2 * BigUint64Array.BYTES_PER_ELEMENT;
  const buffer = (usage: number): GPUBuffer => device.createBuffer({ label: 'timestamps', size, usage });
  const resolved = buffer(GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC);
  const result = buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  let next: 'untimed' | 'first' | 'further' = 'untimed';
  return {
    start() {
      next = 'first';
    },
    writes() {
      if (next === 'untimed') return undefined;
      const begins = next === 'first';
      next = 'further';
      return { querySet, ...(begins && { beginningOfPassWriteIndex: 0 }), endOfPassWriteIndex: 1 };
    },
    async seconds() {
      const wasTimed = next === 'further';
      next = 'untimed';
      if (!wasTimed) return 0;
      const encoder = device.createCommandEncoder();
      encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, result, 0, size);
      device.queue.submit([encoder.finish()]);
      await result.mapAsync(GPUMapMode.READ);
      const [from = 0n, to = 0n] = new BigUint64Array(result.getMappedRange());
      result.unmap();
      return Number(to - from) / 1e9;
    },
  };
}
