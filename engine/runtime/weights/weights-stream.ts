import type { GgufTensor } from '../../gguf/gguf.ts';
import type { FilePages, PageBuffer, PageJob, PageOutcome } from '../../kernels/file-pages.ts';
import type { WeightsRecorder } from './mapped-weights.ts';
import type { BudgetPlan } from './memory-budget.ts';
import { type Placement, placeTensors } from './place-tensors.ts';
import { describeParts, type WeightsPart } from './weights-layout.ts';

export interface WeightsStreamOptions {
  readonly pages: FilePages;
  readonly fileBytes: number;
  readonly plan: BudgetPlan;
  readonly output: readonly GgufTensor[];
  readonly layers: readonly (readonly GgufTensor[])[];
  readonly recorder?: WeightsRecorder | undefined;
}

/**
 * Weights that are partly pinned and partly streamed through two buffers, which a helper thread fills without the page
 * cache: while a layer computes from one buffer, the next one is read into the other. Only necessary bytes are read,
 * nothing has to be dropped, and the process keeps to its memory.
 *
 * Layers must be used in order, repeatedly. An odd number of streamed layers alternate between the buffers from one
 * pass to the next, so the place of a matrix depends on the pass.
 */
export interface WeightsStream {
  /** Selects one of two places of each matrix for the next pass. */
  readonly variant: 0 | 1;
  /** `undefined`: the tensor stays in the file. */
  place(tensor: GgufTensor, variant: 0 | 1): { readonly source: Uint8Array; readonly offset: number } | undefined;
  /** Waits for the weights of a part. */
  before(part: WeightsPart): void;
  /** Must be called after a part was computed: its buffer is reused for the next layer but one. */
  after(part: WeightsPart): void;
  close(): void;
}

/** Reads into one place. */
interface Reading {
  readonly part: WeightsPart;
  readonly jobs: readonly PageJob[];
  readonly bytes: number;
}

export function createWeightsStream(options: WeightsStreamOptions): WeightsStream {
  const { pages, fileBytes, plan, output, layers, recorder } = options;
  const streamed = plan.streamed.flatMap((tensors, layer) => (tensors.length === 0 ? [] : [{ layer, tensors }]));
  const passing = new Map(
    streamed.map(({ layer, tensors }, turn) => [layer, { turn, placement: placeTensors(tensors, fileBytes) }]),
  );
  const pinnedOf = layers.map((tensors) => tensors.filter((tensor) => plan.pinned.has(tensor)));
  const staying = new Map<WeightsPart, Placement>();
  let pinnedBytes = 0;
  for (const [part, tensors] of [...pinnedOf.entries(), ['output', output] as const]) {
    if (tensors.length === 0) continue;
    const placement = placeTensors(tensors, fileBytes, pinnedBytes);
    staying.set(part, placement);
    pinnedBytes += placement.bytes;
  }
  const pinned = pages.buffer(pinnedBytes);
  const buffers = streamed.length === 0 ? [] : [pages.buffer(plan.bufferBytes), pages.buffer(plan.bufferBytes)];
  /** Streamed layers that have been computed over all passes, which determines the next one's place. */
  let computed = 0;
  let residentBytes = 0;
  const pending: Reading[] = [];

  const read = (part: WeightsPart, { reads, bytes }: Placement, buffer: PageBuffer): void => {
    pending.push({
      part,
      bytes,
      jobs: reads.map(({ range, offset }) => pages.read(range, [{ buffer, offset, bytes: range.to - range.from }])),
    });
  };
  /** Starts to read the layer of a turn into its buffer. */
  const readTurn = (turn: number): void => {
    const next = streamed[turn % streamed.length];
    const buffer = buffers[turn % 2];
    if (next === undefined || buffer === undefined) return;
    read(next.layer, (passing.get(next.layer) as { placement: Placement }).placement, buffer);
  };
  const sample = (time: number, change: number): void => {
    residentBytes += change;
    recorder?.sample('resident weights (bytes)', time, residentBytes);
  };
  const write = ({ part, bytes }: Reading, outcomes: readonly PageOutcome[]): void => {
    for (const { start, end, bytes } of outcomes) {
      const args = { bytes, what: describeParts([part]) };
      recorder?.span({ lane: 'disk', cause: 'disk', name: 'prefetch', start, end, args });
    }
    sample(outcomes.at(-1)?.end ?? 0, bytes);
  };

  const readPinned = (parts: readonly WeightsPart[]): void => {
    for (const part of parts) {
      const placement = staying.get(part);
      if (placement !== undefined) read(part, placement, pinned);
    }
  };
  // Reads in the order of the first pass. A tied output is the embedding.
  const outputFirst = output.some(({ name }) => name === 'token_embd.weight');
  if (outputFirst) readPinned(['output']);
  for (const layer of layers.keys()) {
    readPinned([layer]);
    const turn = passing.get(layer)?.turn ?? buffers.length;
    if (turn < buffers.length) readTurn(turn);
  }
  if (!outputFirst) readPinned(['output']);
  pages.readAhead(false);

  return {
    get variant() {
      return computed % 2 === 0 ? 0 : 1;
    },
    place(tensor, variant) {
      for (const [part, placement] of staying) {
        const own = part === 'output' ? output : (pinnedOf[part as number] ?? []);
        if (own.includes(tensor)) return { source: pinned.bytes, offset: placement.offsetOf(tensor) };
      }
      const found = streamed.find(({ tensors }) => tensors.includes(tensor));
      if (found === undefined) return undefined;
      const { turn, placement } = passing.get(found.layer) as { turn: number; placement: Placement };
      const buffer = buffers[(turn + variant) % 2] as PageBuffer;
      return { source: buffer.bytes, offset: placement.offsetOf(tensor) };
    },
    before(asked) {
      const part = asked === 'embedding' && outputFirst ? 'output' : asked;
      const start = performance.now() / 1000;
      for (const reading of pending.filter((one) => one.part === part)) {
        pending.splice(pending.indexOf(reading), 1);
        const outcomes = reading.jobs.map((job) => job.wait());
        write(reading, outcomes);
      }
      const name = `waits for ${describeParts([part])}`;
      recorder?.span({ lane: 'cpu', cause: 'disk', name, start, end: performance.now() / 1000, args: {} });
    },
    after(part) {
      const own = typeof part === 'number' ? passing.get(part) : undefined;
      if (own === undefined) return;
      sample(performance.now() / 1000, -own.placement.bytes);
      readTurn(computed + 2);
      computed += 1;
    },
    close() {
      for (const { jobs } of pending) for (const job of jobs) job.cancel();
    },
  };
}
