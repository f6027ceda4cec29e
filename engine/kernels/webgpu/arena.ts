import { formatBytes } from '../../input/format.ts';
import { DeviceFailureError } from '../device-failure-error.ts';

/** The memory of all vectors: one buffer, so that a shader can work on any of them in place. */
export interface Arena {
  readonly buffer: GPUBuffer;
  /** Changes when the arena grows, which makes bindings of the buffer before invalid. */
  readonly generation: number;
  /** @returns where `length` values begin, a multiple of four @throws DeviceFailureError where the adapter can't bind so much memory */
  reserve(length: number): number;
}

const VALUE_BYTES = 4;
/** Shaders read four values at a time. */
const VECTOR = 4;

/**
 * @param adapter what the adapter is called, for messages
 * @param submit submits what was encoded so far, so that the vectors' contents can be moved
 */
export function createArena(device: GPUDevice, adapter: string, submit: () => void): Arena {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const bindable = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
  const most = VECTOR * Math.floor(bindable / VALUE_BYTES / VECTOR);
  const create = (values: number) => device.createBuffer({ label: 'vectors', size: values * VALUE_BYTES, usage });
  let capacity = 2 ** 20;
  let buffer = create(capacity);
  let used = 0;
  let generation = 0;
  const grow = (needed: number): void => {
    if (needed > most) {
      const [asked, possible] = [needed, most].map((values) => formatBytes(values * VALUE_BYTES));
      throw new DeviceFailureError(
        adapter,
        `can bind ${possible}, and activations take ${asked}: run on the CPU instead`,
      );
    }
    submit();
    const larger = Math.min(most, Math.max(needed, 2 * capacity));
    const before = buffer;
    buffer = create(larger);
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(before, 0, buffer, 0, used * VALUE_BYTES);
    device.queue.submit([encoder.finish()]);
    before.destroy();
    capacity = larger;
    generation++;
  };
  return {
    get buffer() {
      return buffer;
    },
    get generation() {
      return generation;
    },
    reserve(length) {
      const offset = used;
      const end = offset + VECTOR * Math.ceil(length / VECTOR);
      if (end > capacity) grow(end);
      used = end;
      return offset;
    },
  };
}
