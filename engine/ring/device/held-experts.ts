import { formatBytes } from '../../input/format.ts';
import type { ByteRange } from '../../kernels/file-pages.ts';
import { totalBytes } from '../../runtime/weights/byte-ranges.ts';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import type { ExpertsFrame, SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import type { Assignment } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { LoadedPart } from './loaded-part.ts';

/** The experts that a device holds under a plan that divides them, by layer with experts, in their order. */
export type HeldLists = NonNullable<Assignment['held']>;

/** Experts in memory, until they are closed. */
export interface HeldExperts {
  /** Bytes of their matrices in the file. */
  readonly bytes: number;
  close(): void;
}

/** Indices of a model's layers with experts. */
export function mixtureLayers({ part }: LoadedPart): number[] {
  return [...part.model.kinds.keys()].filter((layer) => part.model.kinds[layer]?.feedForward?.kind === 'experts');
}

/** Places in the file of all matrices of these experts. */
function rangesOf(loaded: LoadedPart, held: HeldLists): ByteRange[] {
  return mixtureLayers(loaded).flatMap((layer, place) =>
    (held[place] ?? []).flatMap((expert) =>
      (loaded.experts(layer)?.matrices ?? []).map(({ rangeOf }) => rangeOf(expert)),
    ),
  );
}

/** Bytes of the file that these experts take. */
export function heldExpertBytes(loaded: LoadedPart, held: HeldLists): number {
  return totalBytes(rangesOf(loaded, held));
}

/**
 * Reads experts into memory and locks them there, as far as the operating system lets it; no others of the file are read.
 * @param room bytes of memory for them
 * @throws Error with a reason if its file lacks some, or they don't fit
 */
export async function holdExperts(loaded: LoadedPart, held: HeldLists, room: number): Promise<HeldExperts> {
  const layers = mixtureLayers(loaded);
  if (held.length !== layers.length)
    throw new Error(`experts of ${held.length} layers are assigned; ${layers.length} layers of its model have any`);
  for (const [place, own] of held.entries()) {
    const layer = layers[place] as number;
    const count = loaded.experts(layer)?.experts ?? 0;
    const other = own.find((expert) => expert >= count);
    if (other !== undefined) throw new Error(`expert ${other} of layer ${layer} is assigned; it has ${count}`);
    if (own.length > 0 && !loaded.held.layers.includes(layer))
      throw new Error(`its file has no layer ${layer}; a holder of experts needs the head’s file`);
  }
  const ranges = rangesOf(loaded, held);
  const bytes = totalBytes(ranges);
  if (bytes > room)
    throw new Error(`its experts take ${formatBytes(bytes)}; ${formatBytes(Math.max(0, room))} are available for them`);
  const weights = ranges.length === 0 ? undefined : loaded.mapWeights(undefined);
  await weights?.pin({ name: 'experts', ranges }).settled();
  return { bytes, close: () => weights?.close() };
}

/** Multiplies experts for the head. */
export interface ExpertHolder {
  /** @throws FrameError for a frame that doesn't fit the plan */
  accept(frame: ExpertsFrame): void;
  end(): void;
}

export interface ExpertHolderOptions extends Pick<Assignment, 'epoch' | 'activations' | 'chunk'> {
  readonly loaded: LoadedPart;
  readonly held: HeldLists;
  /** Sends sums to the head; their payload is only valid until this returns. */
  readonly send: (frame: SumsFrame) => void;
  readonly onFailed: (error: Error) => void;
  readonly record: (span: RingSpan) => void;
}

/** A request is multiplied as it comes: the head sends the next one when it has its sums. */
export function createExpertHolder(options: ExpertHolderOptions): ExpertHolder {
  const { loaded, held, epoch, activations, chunk, send, onFailed, record } = options;
  const { hiddenSize, kinds } = loaded.part.model;
  const experts = loaded.part.chosenExperts();
  const layers = new Map(mixtureLayers(loaded).map((layer, place) => [layer, new Set(held[place])]));
  let next = 0;
  let ended = false;

  const check = ({ number, layer, rows, format, payload }: ExpertsFrame): void => {
    if (number !== next) throw new FrameError(`request ${number} for experts; the next one is ${next}`);
    const own = layers.get(layer);
    const { feedForward } = kinds[layer] ?? {};
    if (own === undefined || feedForward?.kind !== 'experts')
      throw new FrameError(`a request for experts of layer ${layer}, which has none`);
    if (rows.length > chunk) throw new FrameError(`${rows.length} rows for experts; the plan has ${chunk} at most`);
    for (const choices of rows) {
      if (choices.length > feedForward.router.used)
        throw new FrameError(`${choices.length} experts of a row; a router chooses ${feedForward.router.used}`);
      const other = choices.find(({ expert }) => !own.has(expert));
      if (other !== undefined)
        throw new FrameError(`a request for expert ${other.expert} of layer ${layer}, which is not held here`);
    }
    const bytes = activationBytes(rows.length * hiddenSize, activations);
    if (format !== activations || payload.length !== bytes)
      throw new FrameError(`${payload.length} bytes of ${format} for experts; ${bytes} of ${activations} are planned`);
  };

  return {
    accept(frame) {
      if (ended || frame.epoch !== epoch) return;
      check(frame);
      const { number, layer, rows, format } = frame;
      next += 1;
      try {
        const start = clock();
        const values = new Float32Array(rows.length * hiddenSize);
        unpackActivations(frame.payload, format, values);
        const sums = experts.multiply(layer, { values, choices: rows });
        record({
          kind: 'compute',
          from: layer,
          to: layer + 1,
          tokens: rows.length,
          request: number,
          start,
          end: clock(),
        });
        const payload = packActivations(sums, format);
        send({ kind: 'sums', epoch, number, layer, rows: rows.length, format, sentAt: clock(), payload });
      } catch (error) {
        onFailed(error as Error);
      }
    },
    end() {
      ended = true;
    },
  };
}
