/** Bytes of a buffer; also the precision of the answer. */
const PIECE = 256 * 2 ** 20;
/** More than any GPU has. */
const MOST_PIECES = 4096;

/**
 * Bytes that can be allocated on a device: buffers are made until one is refused, then all are freed. WebGPU states no
 * size of a GPU's memory. A driver that moves buffers to RAM when its own memory is full has more than is fast.
 */
export async function allocatableBytes(device: GPUDevice): Promise<number> {
  const size = Math.min(PIECE, device.limits.maxBufferSize);
  const buffers: GPUBuffer[] = [];
  try {
    while (buffers.length < MOST_PIECES) {
      device.pushErrorScope('out-of-memory');
      const buffer = device.createBuffer({ label: 'memory', size, usage: GPUBufferUsage.STORAGE });
      if ((await device.popErrorScope()) !== null) return buffers.length * size;
      buffers.push(buffer);
    }
    return buffers.length * size;
  } finally {
    for (const buffer of buffers) buffer.destroy();
  }
}
