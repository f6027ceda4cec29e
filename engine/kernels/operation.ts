import type { Activation } from '../model/feed-forward.ts';
import type { DeltaNet } from '../model/layer-kind.ts';
import type {
  CombineExpertsOperation,
  MultiplyExpertsOperation,
  RouteOperation,
  ScaleExpertsOperation,
} from './expert-operations.ts';
import type { KeyValueCache } from './key-value-cache.ts';
import type { Matrix } from './matrix.ts';
import type { Multiplied } from './multiplied.ts';
import type { Vector } from './vector.ts';

/**
 * The operations of the kernels. Shapes are row-major: in `[tokens][columns]` the values of a token are contiguous. The
 * number of tokens follows from the vectors' lengths. `x` and `y` of an operation must not overlap, except that
 * rms-norm, gate and softmax may work in place.
 */
export type Operation =
  | EmbedOperation
  | RmsNormOperation
  | MultiplyOperation
  | RopeOperation
  | StoreOperation
  | AttentionOperation
  | AttendPagesOperation
  | DivideRowsOperation
  | GateOperation
  | SoftmaxOperation
  | AddOperation
  | ScaleOperation
  | SoftCapOperation
  | TopKOperation
  | RouteOperation
  | MultiplyExpertsOperation
  | ScaleExpertsOperation
  | CombineExpertsOperation
  | GateRowsOperation
  | CopyColumnsOperation
  | ConvolveOperation
  | DeltaRuleOperation
  | SelectiveScanOperation;

/** y[i] = row tokens[i] of the table, dequantized. */
export interface EmbedOperation {
  readonly kind: 'embed';
  readonly table: Matrix;
  readonly tokens: readonly number[];
  /** [tokens][columns] */
  readonly y: Vector;
}

/** y = x/√(mean x² + epsilon)·weight for every row. */
export interface RmsNormOperation {
  readonly kind: 'rms-norm';
  /** [rows][width] */
  readonly x: Vector;
  /** [groups][width]: row r has the weights of group r mod groups. */
  readonly weight: Vector;
  readonly y: Vector;
  readonly epsilon: number;
  /** Default: as many as there are weights, which are then the same for all rows. */
  readonly width?: number | undefined;
}

/** y = x·Wᵀ + bias, or with `accumulate` y += x·Wᵀ + bias (a residual connection). */
export interface MultiplyOperation {
  readonly kind: 'multiply';
  /** [rows][columns] */
  readonly matrix: Matrix;
  /** [tokens][columns] */
  readonly x: Vector;
  /** [tokens][rows] */
  readonly y: Vector;
  /** [rows] */
  readonly bias?: Vector;
  readonly accumulate?: boolean;
  readonly multiplied?: Multiplied | undefined;
  /**
   * Whether native kernels round activations to 15 bits where they would to 8, in products whose errors cost more than
   * others'. Default: false.
   */
  readonly finely?: boolean;
}

/**
 * Rotary position embedding, in place: rotates pairs of the first values of each head by the token's angles
 * (Su et al. 2021, Eq. 34). Pairs are (2i, 2i + 1) or the halves (i, i + dimensions/2).
 */
export interface RopeOperation {
  readonly kind: 'rope';
  /** [tokens][heads][headSize] */
  readonly x: Vector;
  /** From ropeAngles: [tokens][dimensions/2][cosine, sine]; dimensions ≤ headSize. */
  readonly angles: Vector;
  readonly heads: number;
  readonly headSize: number;
  readonly pairs: 'adjacent' | 'halves';
}

/** Writes keys and values of consecutive tokens to the cache, the first at `position`. */
export interface StoreOperation {
  readonly kind: 'store';
  readonly cache: KeyValueCache;
  /** [tokens][kvHeads][headSize] */
  readonly keys: Vector;
  readonly values: Vector;
  readonly position: number;
}

/**
 * y = softmax(scale·q·Kᵀ)·V for every head, causal: a token at position p sees the cache's positions 0 … p, or with a
 * window the last of them (Beltagy et al. 2020, Section 3.1). Query head h reads KV head ⌊h·kvHeads/heads⌋.
 */
export interface AttentionOperation {
  readonly kind: 'attention';
  readonly cache: KeyValueCache;
  /** [tokens][heads][headSize] */
  readonly queries: Vector;
  readonly y: Vector;
  readonly heads: number;
  /** Position of the first token. */
  readonly position: number;
  /** Positions that a token sees at most, its own included: max(0, p − window + 1) … p. Default: all up to its own. */
  readonly window?: number | undefined;
  readonly scale: number;
  /**
   * A score of each head that belongs to no position and has no value: it takes a part of the softmax (Xiao et al. 2023,
   * Section 3.3). [heads]
   */
  readonly sinks?: Vector | undefined;
  /** How queries are multiplied with keys, and weights with values. */
  readonly multiplied?: Multiplied | undefined;
}

/** Positions of a context that lie in a cache of their own. */
export interface CachePage {
  readonly cache: KeyValueCache;
  /** Position in the context of the cache's first position, and the number of positions used. */
  readonly first: number;
  readonly count: number;
}

/**
 * Attention over pages of a context, merged into the result for other pages, in any order: with the scores e =
 * scale·q·k of the positions that a token may see, m ← max(m, max e), and s and the numerator o are multiplied by
 * e^(m_old − m) before Σ e^(e−m) and Σ e^(e−m)·v are added (HELM Eqs. 4.18–4.20). After the last page, `divide-rows` of
 * o by s gives the result of `attention`.
 */
export interface AttendPagesOperation {
  readonly kind: 'attend-pages';
  /** At least one; the caches have the same shape except for their capacity. */
  readonly pages: readonly CachePage[];
  /** [tokens][heads][headSize] */
  readonly queries: Vector;
  /** The numerator o. [tokens][heads][headSize] */
  readonly y: Vector;
  /** m. [tokens][heads] */
  readonly largest: Vector;
  /** s. [tokens][heads] */
  readonly totals: Vector;
  readonly heads: number;
  /** Position of the first token. */
  readonly position: number;
  /** As in AttentionOperation; pages before it change nothing. */
  readonly window?: number | undefined;
  readonly scale: number;
  /** Whether these pages are the first: starts from m = −∞, s = 0, o = 0, or with sinks from m = sink, s = 1, o = 0. */
  readonly begins: boolean;
  /** As in AttentionOperation; used where `begins`. */
  readonly sinks?: Vector | undefined;
  /** As in AttentionOperation, the same for all pages of a context. */
  readonly multiplied?: Multiplied | undefined;
}

/** Divides every row of y by its divisor. */
export interface DivideRowsOperation {
  readonly kind: 'divide-rows';
  /** [rows] */
  readonly divisors: Vector;
  /** [rows][width], in place. */
  readonly y: Vector;
}

/** y = activation(gate)·up (Shazeer 2020, Eq. 6). `gate`, `up` and `y` may be the same vector. */
export interface GateOperation {
  readonly kind: 'gate';
  readonly activation: Activation;
  readonly gate: Vector;
  readonly up: Vector;
  readonly y: Vector;
}

/** y = e^x/Σ e^x for every row of `width`. */
export interface SoftmaxOperation {
  readonly kind: 'softmax';
  readonly x: Vector;
  readonly y: Vector;
  readonly width: number;
}

/** y += factor·x. */
export interface AddOperation {
  readonly kind: 'add';
  readonly x: Vector;
  readonly y: Vector;
  /** Default: 1. */
  readonly factor?: number | undefined;
}

/** y *= factor. */
export interface ScaleOperation {
  readonly kind: 'scale';
  readonly y: Vector;
  readonly factor: number;
}

/** y = cap·tanh(y/cap): keeps values between −cap and cap (Gemma Team 2024, Section 2). */
export interface SoftCapOperation {
  readonly kind: 'soft-cap';
  readonly y: Vector;
  /** Above 0. */
  readonly cap: number;
}

/** Numbers that top-k gives for a row in addition to pairs: how many values aren't finite. */
export const TOP_K_HEAD = 1;

/**
 * The k largest values of every row, largest first, ties by the lower place; NaN is never among them, infinities are. A
 * row of y is the number of values that aren't finite, then k pairs of a value's place in its row and the value; a place
 * of −1 where there are no more. Places are exact, as rows have at most 2²⁴ values.
 */
export interface TopKOperation {
  readonly kind: 'top-k';
  /** [rows][width] */
  readonly x: Vector;
  /** [rows][1 + 2k], with 1 ≤ k ≤ width */
  readonly y: Vector;
  readonly width: number;
}

/** y[row] *= 1/(1 + e^−gate[row]). */
export interface GateRowsOperation {
  readonly kind: 'gate-rows';
  /** [rows] */
  readonly gate: Vector;
  /** [rows][width] */
  readonly y: Vector;
}

/** Copies some columns of every row of x to columns of a row of y, or of several rows that follow one another. */
export interface CopyColumnsOperation {
  readonly kind: 'copy-columns';
  readonly x: ColumnsOf;
  readonly y: ColumnsOf;
  /** Columns that are copied; x.first + columns ≤ x.width, and the same for y. */
  readonly columns: number;
  /** Rows of y for each row of x. Default: 1. */
  readonly repeats?: number | undefined;
}

/** A place in the rows of a vector. */
export interface ColumnsOf {
  /** [rows][width] */
  readonly values: Vector;
  readonly width: number;
  /** The first column of the place. */
  readonly first: number;
}

/**
 * A causal convolution of every channel by itself, over consecutive tokens of one text:
 * y[t][c] = activation(bias[c] + Σ_j weight[c][j]·x[t − width + 1 + j][c]) for j from 0 to width − 1 (Gu and Dao 2023,
 * Section 3.4). Inputs before the first of these tokens are in the state, which afterwards has those before the next.
 */
export interface ConvolveOperation {
  readonly kind: 'convolve';
  /** [tokens][channels] */
  readonly x: Vector;
  /** [channels][width] */
  readonly weight: Vector;
  readonly width: number;
  /** [channels] */
  readonly bias?: Vector | undefined;
  /** Inputs of the last tokens, oldest first: [width − 1][channels] */
  readonly state: Vector;
  /** [tokens][channels] */
  readonly y: Vector;
  readonly activation: 'silu' | 'identity';
}

/**
 * The gated delta rule over consecutive tokens of one text (Yang et al. 2024, "Gated Delta Networks", Eq. 10). For each
 * value head, with its key head's q and k (each divided by √(Σ x² + epsilon), and q by √size), v, and the numbers
 * β = 1/(1 + e^−strength) and g = e^(rate·ln(1 + e^(decay + decayBias))):
 * S ← g·S; δ = β·(v − Sᵀk); S ← S + k·δᵀ; y = Sᵀq.
 * Native kernels take tokens one after the other rather than in chunks: a text's results don't depend, by a single bit,
 * on how passes divide it.
 */
export interface DeltaRuleOperation {
  readonly kind: 'delta-rule';
  /** Queries and keys of all key heads, and values: [tokens][keyHeads·size, keyHeads·size, valueHeads·size] */
  readonly x: Vector;
  /** [tokens][valueHeads] */
  readonly strength: Vector;
  /** [tokens][valueHeads] */
  readonly decay: Vector;
  /** [valueHeads] */
  readonly decayBias: Vector;
  /** At most 0. [valueHeads] */
  readonly rate: Vector;
  /** S: [valueHeads][key of size][value of size] */
  readonly state: Vector;
  /** [tokens][valueHeads][size] */
  readonly y: Vector;
  readonly keyHeads: number;
  readonly valueHeads: number;
  /** Width of a key, and of a value. */
  readonly size: number;
  /** Value head j has key head ⌊j·keyHeads/valueHeads⌋ (`neighbours`), or j mod keyHeads (`apart`). */
  readonly order: DeltaNet['order'];
  readonly epsilon: number;
}

/**
 * A selective state space over consecutive tokens of one text (Dao and Gu 2024, Mamba-2, Section 7). For each head, with
 * τ = ln(1 + e^(step + stepBias)), its values v, and its group's B and C:
 * S ← e^(τ·rate)·S + τ·v·Bᵀ; y = S·C + skip·v.
 */
export interface SelectiveScanOperation {
  readonly kind: 'selective-scan';
  /** Values of all heads, then B and C of all groups: [tokens][heads·headSize, groups·stateSize, groups·stateSize] */
  readonly x: Vector;
  /** [tokens][heads] */
  readonly step: Vector;
  /** [heads] */
  readonly stepBias: Vector;
  /** At most 0. [heads] */
  readonly rate: Vector;
  /** [heads] */
  readonly skip: Vector;
  /** S: [heads][headSize][stateSize] */
  readonly state: Vector;
  /** [tokens][heads][headSize] */
  readonly y: Vector;
  readonly heads: number;
  readonly headSize: number;
  /** Head j is of group ⌊j·groups/heads⌋. */
  readonly groups: number;
  readonly stateSize: number;
}
