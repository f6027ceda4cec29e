import { tensorName } from '../../gguf/tensor-names.ts';
import { formatBytes } from '../../input/format.ts';
import { QUANTIZATIONS } from '../../model/quantization.ts';
import { type ColumnBlocks, type LayerSlice, layerSlices, slicedShape } from '../../plan/tensor-slices.ts';
import type { WindowPart } from '../../runtime/split/gpu-layers.ts';
import { totalBytes } from '../../runtime/weights/byte-ranges.ts';
import type { MappedWeights } from '../../runtime/weights/mapped-weights.ts';
import { clock } from '../wire/clock.ts';
import type { SumsFrame } from '../wire/frame.ts';
import { type Assignment, FROM_HEAD, type TensorCut } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { LoadedPart } from './loaded-part.ts';
import { createPartialSums, HALVES_PER_LAYER, type PartialSums } from './partial-sums.ts';
import { firstRequest, type WindowRun } from './window-runner.ts';

/** A device's slices of all tensors under a plan that cuts them, until they are closed. */
export interface CutLayers extends Pick<PartialSums, 'take' | 'awaited'> {
  readonly part: WindowPart;
  /** Called before a pass runs: its computations are recorded as those of its first request. */
  begins(passed: WindowRun): void;
  /** Bytes of the slices. */
  readonly bytes: number;
  /** Ends waits for other devices; what a pass waits for then rejects. */
  end(): void;
  close(): void;
}

/** By layer a device's slice. @throws Error with a reason, for a model, or shares, whose tensors can't be cut so */
export function slicesOf(loaded: LoadedPart, { members, own }: TensorCut): LayerSlice[] {
  const shares = members.map(({ share }) => share);
  return loaded.part.model.kinds.map((kind, layer) => {
    const slices = layerSlices(kind, layer, { shares, blocks: blocksOf(loaded, layer) });
    return slices[own] as LayerSlice;
  });
}

function blocksOf(loaded: LoadedPart, layer: number): ColumnBlocks {
  const matrices = loaded.matricesOf(layer);
  const blockOf = (role: 'attn_output' | 'ffn_down'): number => {
    const found = matrices.find(({ name }) => name === tensorName(role, layer));
    return found === undefined ? 1 : QUANTIZATIONS[found.type].block;
  };
  return { attention: blockOf('attn_output'), feedForward: blockOf('ffn_down') };
}

/** Why a worker can't take part in a cut, in one line; `undefined` if it can. */
export function cutMisfit(
  { windows, successors, predecessors }: Pick<Assignment, 'windows' | 'successors' | 'predecessors'>,
  cut: TensorCut,
  layers: number,
): string | undefined {
  const [window] = windows;
  if (windows.length !== 1 || window?.from !== 0 || window.to !== layers || window.onGpu.length > 0)
    return `its window is not that of all ${layers} layers, on its CPU`;
  const names = cut.members.map(({ device }) => device);
  if (cut.own >= names.length || names[cut.own] === FROM_HEAD) return 'it has no share of the tensors';
  if (new Set(names).size < names.length) return 'a device has two shares of the tensors';
  if (!names.includes(FROM_HEAD)) return 'the head has no share of the tensors';
  if (cut.members.some(({ share }) => !(share > 0))) return 'a device has a share of 0 of the tensors';
  if (Math.abs(cut.members.reduce((sum, { share }) => sum + share, 0) - 1) > 1e-6)
    return 'the shares of the tensors do not add up to 1';
  const linked = (name: string): boolean =>
    [successors, predecessors].every((links) => links.some((link) => link.name === name));
  const peers = cut.allReduce === 'star' ? [] : names.filter((name, at) => at !== cut.own && name !== FROM_HEAD);
  const apart = peers.find((name) => !linked(name));
  if (apart !== undefined) return `the plan has no link to ${apart}`;
  return undefined;
}

/** The model as a device has it under a plan that cuts tensors: for its KV cache. */
export function withSlices(loaded: LoadedPart, slices: readonly LayerSlice[]): LoadedPart {
  const { part } = loaded;
  return { ...loaded, part: { ...part, model: slicedShape(part.model, slices) } };
}

export interface CutLayersOptions extends Pick<Assignment, 'epoch' | 'activations' | 'chunk' | 'context'> {
  readonly loaded: LoadedPart;
  readonly cut: TensorCut;
  readonly slices: readonly LayerSlice[];
  /** Bytes of memory for them. */
  readonly room: number;
  /** Sends to a device of the cut; the payload is only valid until this returns. */
  readonly send: (device: string, frame: SumsFrame) => void;
  readonly record: (span: RingSpan) => void;
}

/**
 * Reads a device's slices: rows are locked in memory where they lie in its file, as far as the operating system lets it, and
 * columns copied from it. Nothing else of the layers is read.
 * @throws Error with a reason if its file lacks some, or they don't fit
 */
export async function loadCutLayers(options: CutLayersOptions): Promise<CutLayers> {
  const { loaded, slices, room, context, chunk, record } = options;
  const { hiddenSize, layers } = loaded.part.model;
  const missing = slices.findIndex((_, layer) => !loaded.held.layers.includes(layer));
  if (missing >= 0)
    throw new Error(`its file has no layer ${missing}; a device with cut tensors needs the head’s file`);
  if (loaded.kernels.again === undefined)
    throw new Error(`the ${loaded.kernels.name} kernels don’t map files; native kernels are needed for cut tensors`);
  loaded.useContext(context);
  const kernels = loaded.kernels.again();
  let mapped: MappedWeights | undefined;
  const close = (): void => {
    mapped?.close();
    kernels.close();
  };
  try {
    const sizes = slices.map((slice, layer) => loaded.sliceBytes(layer, slice));
    const ranges = sizes.flatMap(({ rows }) => rows);
    const bytes = sizes.reduce((sum, { columns }) => sum + columns, totalBytes(ranges));
    if (bytes > room)
      throw new Error(
        `its share of the tensors takes ${formatBytes(bytes)}; ${formatBytes(Math.max(0, room))} are available for it`,
      );
    mapped = loaded.mapWeights(undefined);
    await mapped?.pin({ name: 'slices', ranges }).settled();
    const sliced = loaded.slicedOn(kernels, slices, chunk);
    const whole = loaded.partOn(kernels);
    const sums = createPartialSums({ ...options, hiddenSize, layers });
    let request = 0;
    const run: WindowPart['run'] = async (_from, _to, segments) => {
      const tokens = segments.reduce((sum, one) => sum + one.tokens, 0);
      const stream = whole.stream(tokens);
      const compute = sliced.begin(segments);
      for (let half = 0; half < sliced.halves; half++) {
        const start = clock();
        const own = compute(half, stream);
        const layer = Math.floor(half / HALVES_PER_LAYER);
        record({ kind: 'compute', from: layer, to: layer + 1, tokens, request, start, end: clock() });
        const total = await sums.total(half, own);
        if (total === undefined) return;
        for (let index = 0; index < total.length; index++)
          stream[index] = (stream[index] as number) + (total[index] as number);
      }
    };
    return {
      part: { ...whole, model: slicedShape(loaded.part.model, slices), kernelsOf: () => kernels, run },
      bytes,
      begins(passed) {
        request = firstRequest(passed);
      },
      take: sums.take,
      awaited: sums.awaited,
      end: () => sums.end(new Error('the plan has ended')),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Records all but whole windows, whose slices are recorded one by one. */
export function withoutWindows(record: ((span: RingSpan) => void) | undefined): (span: RingSpan) => void {
  return (span) => {
    if (span.kind !== 'compute' || span.from === span.to) record?.(span);
  };
}
