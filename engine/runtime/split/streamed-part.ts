import type { Kernels } from '../../kernels/kernels.ts';
import type { KeptMatrix, Matrix, MatrixSource } from '../../kernels/matrix.ts';
import type { StreamedLayers } from '../../plan/ring-windows.ts';
import type { ModelPart } from './model-part.ts';

/** When layers were brought to the GPU, or computed; seconds of `now`. */
export interface StreamedSpan {
  readonly kind: 'copy' | 'compute';
  /** Layers `from` up to `to`; the output layer where both are the number of layers. */
  readonly from: number;
  readonly to: number;
  readonly tokens: number;
  /** Bytes that were copied. */
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
}

export interface StreamedPartOptions extends StreamedLayers {
  readonly gpu: Kernels;
  /** The model's part on kernels that stand for the GPU's. */
  readonly partOn: (kernels: Kernels) => ModelPart;
  readonly record?: ((span: StreamedSpan) => void) | undefined;
  /** Clock of the spans. */
  readonly now: () => number;
}

/** A part on a GPU, some of whose layers are streamed. */
export interface StreamedPart {
  readonly part: ModelPart;
  /** Bytes of matrices in RAM so far. */
  readonly bytes: number;
}

type Streamed = number | 'output';

/**
 * A part on a GPU of which some layers are copied there for every pass: their matrices lie in RAM as shaders want them, norms
 * and biases stay on the GPU. WebGPU has one queue, in which copies and computing follow each other: what happens while a layer
 * computes is that the next one's bytes are brought to memory that the queue copies from. Computing is waited for layer by
 * layer, so that this memory holds one layer.
 * @throws RangeError for kernels in RAM, which have nothing to copy to
 */
export function createStreamedPart(options: StreamedPartOptions): StreamedPart {
  const { gpu, way, record, now } = options;
  const { streaming } = gpu;
  if (streaming === undefined) throw new RangeError(`${gpu.name} kernels compute on matrices in RAM`);
  const order = new Map(options.layers.map((layer, index) => [layer, index]));
  const slots = way === 'ahead' ? 2 : 1;
  const rooms = new Map<string, Matrix>();
  const kept = new Map<Streamed, KeptMatrix[]>();
  let bytes = 0;
  /** The part that is being loaded, and its matrices so far. */
  let loading: { readonly slot: number | 'output'; readonly matrices: KeptMatrix[] } | undefined;
  const matrix = (source: MatrixSource): Matrix => {
    if (loading === undefined) return gpu.matrix(source);
    const { slot, matrices } = loading;
    const { type, rows, columns } = source;
    // Layers have their products in one order; those of one place and shape share memory.
    const key = [slot, matrices.length, type, rows, columns].join(' ');
    const room = rooms.get(key) ?? streaming.room({ type, rows, columns });
    rooms.set(key, room);
    const own = streaming.keep(source, room);
    matrices.push(own);
    bytes += own.bytes;
    return room;
  };
  const part = options.partOn({ ...gpu, matrix });
  const { layers } = part.model;
  const loaded = (what: Streamed, slot: number | 'output', load: () => void): void => {
    if (kept.has(what)) return;
    const matrices: KeptMatrix[] = [];
    loading = { slot, matrices };
    load();
    loading = undefined;
    kept.set(what, matrices);
  };
  const bring = (layer: Streamed, tokens: number): void => {
    const matrices = kept.get(layer) ?? [];
    const start = now();
    for (const one of matrices) one.copy();
    const own = matrices.reduce((sum, one) => sum + one.bytes, 0);
    const from = layer === 'output' ? layers : layer;
    const to = layer === 'output' ? layers : layer + 1;
    record?.({ kind: 'copy', from, to, tokens, bytes: own, start, end: now() });
  };
  const mark = gpu.vector(1);
  const loadOutput = (): void => {
    if (options.output) loaded('output', 'output', part.loadOutput);
    else part.loadOutput();
  };
  /** The output layer's weights are there when it runs. */
  const withOutput = async <Result>(tokens: number, run: () => Promise<Result>): Promise<Result> => {
    if (!options.output) return await run();
    loadOutput();
    bring('output', tokens);
    return await run();
  };
  const own: ModelPart = {
    ...part,
    load(from, to, withoutExperts = 0) {
      for (let layer = from; layer < to; layer++) {
        const without = layer < from + withoutExperts ? 1 : 0;
        const place = order.get(layer);
        const load = (): void => part.load(layer, layer + 1, without);
        if (place === undefined) load();
        else loaded(layer, place % slots, load);
      }
    },
    loadOutput,
    async run(from, to, segments, experts) {
      const tokens = segments.reduce((sum, one) => sum + one.tokens, 0);
      let brought: number | undefined;
      for (let layer = from; layer < to; layer++) {
        if (!order.has(layer)) {
          const start = now();
          let end = layer + 1;
          while (end < to && !order.has(end)) end++;
          await part.run(layer, end, segments, experts);
          await gpu.read(mark);
          record?.({ kind: 'compute', from: layer, to: end, tokens, bytes: 0, start, end: now() });
          layer = end - 1;
          continue;
        }
        if (brought !== layer) bring(layer, tokens);
        const start = now();
        await part.run(layer, layer + 1, segments, experts);
        const done = gpu.read(mark);
        const next = layer + 1;
        if (way === 'ahead' && next < to && order.has(next)) {
          bring(next, tokens);
          brought = next;
        }
        await done;
        record?.({ kind: 'compute', from: layer, to: next, tokens, bytes: 0, start, end: now() });
      }
    },
    logits: (tokens, ...rest) => withOutput(tokens, () => part.logits(tokens, ...rest)),
    hidden: (tokens, ...rest) => withOutput(tokens, () => part.hidden(tokens, ...rest)),
    largestLogits: (tokens, ...rest) => withOutput(tokens, () => part.largestLogits(tokens, ...rest)),
  };
  return {
    part: own,
    get bytes() {
      return bytes;
    },
  };
}
