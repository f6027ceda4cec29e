import type { ByteSource } from '../../gguf/byte-source.ts';
import { formatBytes } from '../../input/format.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { checkCache, checkMatrix, checkOperation, placeCheck } from '../checks.ts';
import { DeviceFailureError } from '../device-failure-error.ts';
import type { Kernels } from '../kernels.ts';
import type { Matrix, MatrixShape, MatrixSource } from '../matrix.ts';
import type { Operation } from '../operation.ts';
import { type Vector, vectorOver } from '../vector.ts';
import { type Arena, createArena } from './arena.ts';
import { cacheMemory, type ScratchFile } from './cache-memory.ts';
import { encodeAll, prepareAll } from './encode.ts';
import type { EncodingContext } from './encoding-context.ts';
import { createProgram } from './program.ts';
import { MOST_HEAD_SIZE } from './shaders/attention.ts';
import { kvRowWords } from './shaders/kv-rows.ts';
import { LANES, type LanesTogether } from './shaders/lanes.ts';
import { MOST_EXPERTS } from './shaders/route.ts';
import { arrangeMatrix, type FileRows, matrixRoom, type UploadedMatrix, uploadMatrix } from './weights-buffers.ts';

export interface WebgpuOptions {
  readonly device: GPUDevice;
  /** Name of the adapter, for messages. */
  readonly adapter: string;
  /** Opens a file of weights. @throws InputError if it can't be read */
  openFile(path: string): { readonly source: ByteSource; close(): void };
  /** A file in `folder` for caches of this many bytes. @throws InputError if it can't be created */
  openScratch(folder: string, bytes: number): ScratchFile;
  /** How lanes work together; default: as the device can best. */
  readonly lanes?: LanesTogether | undefined;
  /** Whether WGSL has dot products of packed bytes. */
  readonly packedDot: boolean;
  /** Whether tiles of products may round both factors to 16 bits, where the device has them. Default: false. */
  readonly halves?: boolean | undefined;
  /** Whether products of many tokens are of halves, by matrices that subgroups of 32 lanes multiply. Default: false. */
  readonly halfMatrices?: boolean | undefined;
  /** Whether products of a few tokens read weights by units of 16 bytes; narrow lanes, as of GPUs in software, don't gain. */
  readonly units?: boolean | undefined;
  /** Dispatches after which the device begins, while more are encoded. Default: 0, only when a result is wanted. */
  readonly early?: number | undefined;
  /** Waits for what the device does. Default: as the platform waits for promises. */
  readonly wait?: (<Result>(pending: Promise<Result>) => Promise<Result>) | undefined;
}

export interface WebgpuKernels extends Kernels {
  /** Seconds that operations take on the device, by its own clock; `undefined` where it has no timestamps. */
  readonly deviceSeconds: ((run: () => void | Promise<void>) => Promise<number>) | undefined;
}

/** Seconds after a failure within which the loss of the device is reported; an assumption. */
const LOSS_SECONDS = 1;

/** Subgroups by themselves where all have one size, of which a workgroup is a multiple. */
function lanesOf({ features, adapterInfo }: GPUDevice): LanesTogether {
  if (!features.has('subgroups')) return 'workgroup';
  const { subgroupMinSize = 0, subgroupMaxSize = 0 } = adapterInfo;
  const known = subgroupMinSize === subgroupMaxSize && subgroupMaxSize > 1 && subgroupMaxSize < LANES;
  return known ? { subgroupSize: subgroupMaxSize } : 'subgroups';
}

/**
 * Kernels on a GPU, by WebGPU: weights are uploaded once in the file's own format and decoded by shaders; sums are in
 * float32. `run` encodes dispatches, which `read` submits: a token is one submission.
 */
export function webgpuKernels({
  device,
  adapter,
  openFile,
  openScratch,
  packedDot,
  lanes = lanesOf(device),
  halves = false,
  halfMatrices = false,
  units = false,
  early = 0,
  wait = (pending) => pending,
}: WebgpuOptions): WebgpuKernels {
  const files: { readonly source: ByteSource; close(): void }[] = [];
  const matrices: UploadedMatrix[] = [];
  const caches: (GPUBuffer | undefined)[] = [];
  const places: number[] = [];
  /** Buffers through which results come back, by size: those that no read uses now. */
  const staging = new Map<number, GPUBuffer[]>();
  let failure: Error | undefined;
  let pendingChecks: Promise<void> = Promise.resolve();

  device.addEventListener('uncapturederror', ({ error }) => {
    failure ??=
      error instanceof GPUOutOfMemoryError
        ? new DeviceFailureError(adapter, 'has no memory for activations; try again, with fewer layers on it')
        : new Error(`${adapter}: ${error.message}`);
  });
  let closed = false;
  const lost = device.lost.then(({ message }) => {
    if (closed) return;
    const reason = message.split('\n')[0];
    failure = new DeviceFailureError(adapter, `the device was lost (${reason}); try again, with fewer layers on it`);
  });

  let arena: Arena;
  const program = createProgram(device, () => arena, early);
  arena = createArena(device, adapter, () => program.submit());

  /** Calls `allocate`; that the device has no memory for it is known later, and thrown by the next `read`. */
  const allocated = <Result>(what: string, allocate: () => Result): Result => {
    device.pushErrorScope('out-of-memory');
    const result = allocate();
    const check = device.popErrorScope().then((error) => {
      if (error !== null) failure ??= new DeviceFailureError(adapter, `has no memory for ${what}`);
    });
    pendingChecks = Promise.all([pendingChecks, check]).then(() => {});
    return result;
  };

  /** Operands of operations that were encoded, but perhaps not submitted: vectors by their ids, and token ids. */
  const used = new Set<number | 'tokens'>();
  const submit = (): void => {
    program.submit();
    used.clear();
  };
  /** Writes at once: what was encoded before, and uses it, must have been submitted. */
  const upload = (place: number, values: Float32Array): void => {
    device.queue.writeBuffer(arena.buffer, 4 * place, values as Float32Array<ArrayBuffer>);
  };
  const room = (): ((values: number) => number) => {
    let [place, size] = [0, 0];
    return (values) => {
      if (values > size) [place, size] = [arena.reserve(values), values];
      return place;
    };
  };
  const tokensRoom = room();
  const placeOf = ({ id, offset }: Vector): number => (places[id] as number) + offset;
  const factors = new Map<'weights' | 'inputs', GPUBuffer>();
  const context: EncodingContext = {
    lanes,
    lanesName: typeof lanes === 'object' ? `subgroups of ${lanes.subgroupSize}` : lanes,
    packedDot,
    units,
    tileValues: halves && device.features.has('shader-f16') ? 'f16' : 'f32',
    matrix: (id) => matrices[id] as UploadedMatrix,
    cache: (id) => caches[id] as GPUBuffer,
    place(vector) {
      used.add(vector.id);
      return placeOf(vector);
    },
    tokens(tokens) {
      const place = tokensRoom(tokens.length);
      // `submit` would forget what the operation that is being encoded uses.
      if (used.has('tokens')) program.submit();
      used.add('tokens');
      upload(place, Float32Array.from(tokens));
      return place;
    },
    scratch: room(),
    rounded: room(),
    halfMatrices,
    halves(factor, bytes) {
      const before = factors.get(factor);
      if (before !== undefined && before.size >= bytes) return before;
      // Operations that were encoded may use the smaller one.
      if (before !== undefined) {
        program.submit();
        before.destroy();
      }
      const size = 16 * Math.ceil(bytes / 16);
      const create = () => device.createBuffer({ label: 'halves', size, usage: GPUBufferUsage.STORAGE });
      const buffer = allocated('products of halves', create);
      factors.set(factor, buffer);
      return buffer;
    },
  };

  const check = (operation: Operation): void => {
    checkOperation(operation);
    if (operation.kind !== 'route' || operation.router.experts <= MOST_EXPERTS) return;
    const found = `layers of ${operation.router.experts} experts; at most ${MOST_EXPERTS} are possible on a GPU`;
    throw new DeviceFailureError(adapter, `${found}: run on the CPU instead`);
  };

  const fileRowsOf = ({ source, offset = 0, type, columns }: MatrixSource): FileRows => ({
    fileRowBytes: quantizedBytes(columns, type),
    read: (from, to) =>
      source instanceof Uint8Array
        ? source.subarray(offset + from, offset + to)
        : (files[source.id] as (typeof files)[number]).source.read(offset + from, to - from),
  });
  const addMatrix = (shape: MatrixShape, make: () => UploadedMatrix): Matrix => {
    const { type, rows, columns } = shape;
    const what = `a matrix of ${formatBytes(rows * quantizedBytes(columns, type))}`;
    return { id: matrices.push(allocated(what, make)) - 1, type, rows, columns };
  };

  return {
    name: 'webgpu',
    instructionSet: 'none',
    threads: 1,
    mapFile(path) {
      const file = openFile(path);
      return { id: files.push(file) - 1, path, size: file.source.size };
    },
    pages: () => undefined,
    matrix(matrix) {
      checkMatrix(matrix);
      return addMatrix(matrix, () => uploadMatrix(device, matrix, fileRowsOf(matrix)));
    },
    streaming: {
      room: (shape) => addMatrix(shape, () => matrixRoom(device, shape)),
      keep(source, { id }) {
        checkMatrix(source);
        const { parts, rowBytes } = matrices[id] as UploadedMatrix;
        const data = arrangeMatrix({ parts, rowBytes }, source, fileRowsOf(source));
        return {
          bytes: data.reduce((sum, { byteLength }) => sum + byteLength, 0),
          copy() {
            submit();
            for (const [index, { buffer }] of parts.entries())
              device.queue.writeBuffer(buffer, 0, data[index] as Uint8Array<ArrayBuffer>);
          },
        };
      },
    },
    vector(contents) {
      const values = typeof contents === 'number' ? new Float32Array(contents) : Float32Array.from(contents);
      const place = arena.reserve(values.length);
      if (typeof contents !== 'number') upload(place, values);
      return vectorOver(places.push(place) - 1, values);
    },
    cache(shape) {
      const { type, kvHeads, capacity, headSize } = shape;
      if (headSize > MOST_HEAD_SIZE) {
        const found = `heads of ${headSize} values; at most ${MOST_HEAD_SIZE} are possible on a GPU`;
        throw new DeviceFailureError(adapter, `${found}: run on the CPU instead`);
      }
      checkCache(shape);
      const size = 4 * 2 * kvHeads * capacity * kvRowWords(type, headSize);
      const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
      const what = `a layer’s KV cache for ${capacity} tokens`;
      const buffer = allocated(what, () => device.createBuffer({ label: 'KV cache', size, usage }));
      return { ...shape, id: caches.push(buffer) - 1 };
    },
    cacheFile: ({ folder, ram }, { id: shape }) =>
      cacheMemory({
        ram,
        openScratch: () => openScratch(folder, (caches[shape] as GPUBuffer).size),
        device,
        program,
        bufferOf: ({ id }) => caches[id] as GPUBuffer,
        onPending(arrival) {
          const arrived = arrival.catch((error: Error) => {
            failure ??= error;
          });
          pendingChecks = Promise.all([pendingChecks, arrived]).then(() => {});
        },
      }),
    copyCache(from, to) {
      const [source, target] = [caches[from.id] as GPUBuffer, caches[to.id] as GPUBuffer];
      program.copy(source, 0, target, source.size);
    },
    freeCache({ id }) {
      submit();
      caches[id]?.destroy();
      caches[id] = undefined;
    },
    run(operations) {
      for (const operation of operations) check(operation);
      encodeAll(context, operations, program.add);
    },
    prepare(operations) {
      if (operations.some(({ kind }) => kind === 'attend-pages'))
        throw new RangeError('attend-pages: pages have places of their own; such operations are not prepared');
      for (const operation of operations) check(operation);
      const checkPlaces = placeCheck(operations);
      const before = new Set(used);
      used.clear();
      const parts = prepareAll(context, operations);
      const own = new Set(used);
      used.clear();
      for (const one of before) used.add(one);
      return {
        run(tokens, position) {
          checkPlaces(tokens, position);
          for (const one of own) used.add(one);
          for (const part of parts) {
            if (typeof part !== 'function') program.add(part);
            else for (const dispatch of part(tokens, position)) program.add(dispatch);
          }
        },
      };
    },
    write(vector) {
      if (used.has(vector.id)) submit();
      upload(placeOf(vector), vector.values);
    },
    async read(vector: Vector) {
      const bytes = vector.values.byteLength;
      const free = staging.get(bytes) ?? [];
      staging.set(bytes, free);
      const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
      const buffer = free.pop() ?? device.createBuffer({ label: 'results', size: bytes, usage });
      program.copy(arena.buffer, 4 * placeOf(vector), buffer, bytes);
      submit();
      try {
        await wait(buffer.mapAsync(GPUMapMode.READ));
        vector.values.set(new Float32Array(buffer.getMappedRange()));
        buffer.unmap();
        free.push(buffer);
      } catch (error) {
        // Buffers of a lost device fail before the loss is reported.
        await Promise.race([lost, new Promise((resolve) => setTimeout(resolve, LOSS_SECONDS * 1000))]);
        throw failure ?? error;
      }
      await wait(pendingChecks);
      if (failure !== undefined) throw failure;
    },
    deviceSeconds:
      program.timer &&
      (async (run) => {
        program.submit();
        program.timer?.start();
        await run();
        program.submit();
        return await wait(program.timer?.seconds() ?? Promise.resolve(0));
      }),
    close() {
      closed = true;
      for (const file of files.splice(0)) file.close();
      device.destroy();
    },
  };
}
