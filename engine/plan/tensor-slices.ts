import type { Shape } from '../model/architecture.ts';
import { addsDirectly } from '../model/block/part.ts';
import type { Attention, Dense, LayerKind } from '../model/layer-kind.ts';

/** Consecutive heads, rows or columns. */
export interface SliceRun {
  readonly from: number;
  readonly count: number;
}

/** A device's part of every tensor of a layer under a plan that cuts them (Megatron-LM 3). */
export interface LayerSlice {
  /** Heads of keys and values; the queries that attend to them, and the columns of W_o that read them, come with them. */
  readonly kvHeads: SliceRun;
  /** Rows of W_gate and W_up, which are the columns of W_down. */
  readonly inner: SliceRun;
}

/** Columns of a block in the format of the matrices that are cut by columns. */
export interface ColumnBlocks {
  /** W_o, the output of attention. */
  readonly attention: number;
  /** W_down, the output of the feed-forward part. */
  readonly feedForward: number;
}

/** A layer whose tensors can be cut. */
export interface CuttableKind extends LayerKind {
  readonly mixer: Attention;
  readonly feedForward: Dense;
}

/** Why tensors of a kind of layer can't be cut among devices; `undefined` if they can. */
function obstacle(kind: LayerKind): string | undefined {
  const { mixer, feedForward } = kind;
  if (mixer?.kind !== 'attention') return mixer === undefined ? 'no attention' : `${mixer.kind} in place of attention`;
  if (feedForward?.kind !== 'dense') return feedForward === undefined ? 'no feed-forward part' : 'experts';
  if (!addsDirectly(kind)) return 'results that are normalised or scaled before they are added';
  if (kind.scaled !== undefined && kind.scaled.length > 0) return 'matrices with scales of their own';
  if (kind.inputSize !== undefined || kind.outputScale) return 'an embedding, or a factor, of its own';
  if (mixer.keysOf !== undefined) return 'the keys of another layer';
  if (mixer.norms === 'all-heads') return 'a norm of all heads together';
  if (mixer.gated || mixer.sinks || mixer.valuesAreKeys) return 'gates or sinks of heads, or keys as values';
  if (mixer.outputBias || feedForward.biases?.includes('ffn_down')) return 'a bias on the layer’s output';
  return undefined;
}

/** @throws Error with a reason, for a layer whose tensors can't be cut */
export function cuttable(kind: LayerKind, layer: number): CuttableKind {
  const reason = obstacle(kind);
  if (reason === undefined) return kind as CuttableKind;
  throw new Error(
    `layer ${layer} has ${reason}; tensors are cut of layers with attention and a dense feed-forward part: use a plan of whole layers`,
  );
}

/**
 * Cuts a layer: each device has consecutive KV heads and inner rows, in the order of the shares and as near to them as
 * whole heads and whole blocks of the format allow.
 * @throws Error with a reason, for a layer whose tensors can't be cut, or not in this many parts
 */
export function layerSlices(
  given: LayerKind,
  layer: number,
  { shares, blocks }: { readonly shares: readonly number[]; readonly blocks: ColumnBlocks },
): LayerSlice[] {
  const { mixer, feedForward } = cuttable(given, layer);
  const { heads, kvHeads, headSize } = mixer;
  const perHead = (heads / kvHeads) * headSize;
  const unit = blocks.attention / commonDivisor(blocks.attention, perHead);
  const cut = (whole: SliceRun, what: string): SliceRun[] => {
    const { from: size, count } = whole;
    const runs = apportioned(count, shares).map(({ from, count: own }) => ({ from: from * size, count: own * size }));
    const none = runs.findIndex((run) => run.count === 0);
    if (none < 0) return runs;
    const share = Number((100 * (shares[none] as number)).toPrecision(3));
    throw new Error(
      `${what} of layer ${layer} has ${count} parts, of which a share of ${share} % is none: give fewer devices a share, or larger ones`,
    );
  };
  const attention = cut({ from: unit, count: kvHeads / unit }, `attention in ${headsText(unit)}`);
  const rows = blocks.feedForward;
  const inner = cut({ from: rows, count: feedForward.size / rows }, `the feed-forward part in blocks of ${rows}`);
  return attention.map((run, device) => ({ kvHeads: run, inner: inner[device] as SliceRun }));
}

const headsText = (unit: number): string => (unit === 1 ? 'KV heads' : `${unit} KV heads each, for whole blocks,`);

/** Divides units in proportion to shares, in their order: each ends at the unit nearest to the sum of shares up to it. */
function apportioned(units: number, shares: readonly number[]): SliceRun[] {
  let sum = 0;
  let end = 0;
  return shares.map((share, index) => {
    sum += share;
    const from = end;
    end = index === shares.length - 1 ? units : Math.min(units, Math.round(sum * units));
    return { from, count: end - from };
  });
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** The kind of layer that a device has of another: fewer heads and inner rows. */
export function slicedKind(kind: CuttableKind, { kvHeads, inner }: LayerSlice): CuttableKind {
  const { mixer, feedForward } = kind;
  const heads = (mixer.heads / mixer.kvHeads) * kvHeads.count;
  return {
    ...kind,
    mixer: { ...mixer, heads, kvHeads: kvHeads.count },
    feedForward: { ...feedForward, size: inner.count },
  };
}

/** The shape of a model as a device has it. @param slices by layer; layers of one kind and size share the object */
export function slicedShape<Whole extends Pick<Shape, 'kinds'>>(model: Whole, slices: readonly LayerSlice[]): Whole {
  const known = new Map<LayerKind, Map<string, LayerKind>>();
  const kinds = model.kinds.map((kind, layer) => {
    const slice = slices[layer] as LayerSlice;
    const ofKind = known.get(kind) ?? new Map<string, LayerKind>();
    known.set(kind, ofKind);
    const size = `${slice.kvHeads.count} ${slice.inner.count}`;
    const found = ofKind.get(size) ?? slicedKind(cuttable(kind, layer), slice);
    ofKind.set(size, found);
    return found;
  });
  return { ...model, kinds };
}
