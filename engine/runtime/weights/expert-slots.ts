import { createUnitCache, type Eviction } from '../../experts/unit-cache.ts';
import type { ByteRange, FilePages } from '../../kernels/file-pages.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { ExpertMatrix } from '../../model/block/layer-weight.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { createSlotReader, stagingBytes, type WantedBytes } from './slot-reader.ts';

/** A layer's experts by their places in the file. */
export interface PlacedExperts {
  readonly experts: number;
  readonly matrices: readonly ExpertBytes[];
}

/** Places in the file of a matrix of each of a layer's experts. */
export interface ExpertBytes {
  readonly role: ExpertMatrix;
  /** Rows of an expert's. */
  readonly rows: number;
  rangeOf(expert: number): ByteRange;
}

/** The matrix of all experts, as a layer's operations know it. */
export interface ExpertProduct {
  readonly matrix: Matrix;
  readonly bias?: Vector; // [experts][rows]
}

/** The same in slots, which hold some of the experts. */
export interface SlotMatrix {
  readonly matrix: Matrix;
  readonly bias: Vector | undefined; // [slots][rows]
}

/** The experts of a layer that are in memory. */
export interface LayerSlots {
  /** Experts that can be held at the same time. */
  readonly slots: number;
  /** Brings different experts, at most as many as there are slots, into slots. @returns the slot of each */
  need(experts: readonly number[]): ReadonlyMap<number, number>;
  /** The slots that stand for the matrix of an operation. */
  matrixOf(matrix: Matrix): SlotMatrix | undefined;
}

export interface ExpertSlotsOptions {
  readonly kernels: Pick<Kernels, 'matrix' | 'vector' | 'write'>;
  readonly pages: FilePages;
  readonly fileBytes: number;
  /** Layers with experts, by their index. */
  readonly layers: ReadonlyMap<number, PlacedExperts>;
  readonly productOf: (layer: number, role: ExpertMatrix) => ExpertProduct;
  /** Slots of each layer. */
  readonly slots: number;
  readonly eviction: Eviction;
  readonly recorder?: RunRecorder | undefined;
}

/** How often experts were needed, by the tokens of a pass together, and what was read of them. */
export interface ExpertReads {
  readonly needs: number;
  readonly reads: number;
  readonly bytes: number;
}

export interface ExpertSlots {
  /** By layer. */
  readonly layers: ReadonlyMap<number, LayerSlots>;
  /** Since they were made. */
  readonly counts: ExpertReads;
}

/** Bytes of memory that each slot of all layers takes. */
export function slotBytes(layers: ReadonlyMap<number, PlacedExperts>): number {
  const ofLayer = ({ matrices }: PlacedExperts): number =>
    matrices.reduce((sum, { rangeOf }) => sum + length(rangeOf(0)), 0);
  return [...layers.values()].reduce((sum, layer) => sum + ofLayer(layer), 0);
}

/** Bytes of memory that reading takes besides. */
export function readingBytes(layers: ReadonlyMap<number, PlacedExperts>): number {
  return stagingBytes(largestMatrix(layers));
}

/**
 * Slots for the experts of a mixture that doesn't fit into memory: a token's experts are read when a router has chosen them,
 * unless they are held, in place of others.
 */
export function createExpertSlots(options: ExpertSlotsOptions): ExpertSlots {
  const { kernels, pages, fileBytes, layers, productOf, slots, eviction, recorder } = options;
  const reader = createSlotReader(pages, { fileBytes, largest: largestMatrix(layers), recorder });
  const counts = { needs: 0, reads: 0, bytes: 0 };
  const byLayer = new Map(
    [...layers].map(([layer, { matrices }]) => {
      const memory = matrices.map((own) => slotMemory({ kernels, pages, slots }, own, productOf(layer, own.role)));
      const cache = createUnitCache({ slots, eviction, sparesNeeded: true, seed: layer });
      const places = new Map<number, number>();
      const own: LayerSlots = {
        slots,
        need(experts) {
          const missing = cache.need(experts);
          for (const { unit, victim } of missing) {
            places.set(unit, victim === undefined ? places.size : (places.get(victim) as number));
            if (victim !== undefined) places.delete(victim);
          }
          const wanted = missing.flatMap(({ unit }) =>
            memory.map((one) => one.wanted(unit, places.get(unit) as number)),
          );
          counts.needs += experts.length;
          counts.reads += missing.length;
          counts.bytes += wanted.reduce((sum, { to }) => sum + to.length, 0);
          reader.read(wanted, `${missing.length} of ${experts.length} experts of layer ${layer}`);
          return places;
        },
        matrixOf: (matrix) => memory.find(({ of }) => of === matrix.id)?.inSlots,
      };
      return [layer, own] as const;
    }),
  );
  return { layers: byLayer, counts };
}

function slotMemory(
  { kernels, pages, slots }: Pick<ExpertSlotsOptions, 'kernels' | 'pages' | 'slots'>,
  { rows, rangeOf }: ExpertBytes,
  { matrix, bias }: ExpertProduct,
) {
  const bytes = length(rangeOf(0));
  const { bytes: source } = pages.buffer(slots * bytes);
  const { type, columns } = matrix;
  const inSlots: SlotMatrix = {
    matrix: kernels.matrix({ source, type, rows: slots * rows, columns }),
    bias: bias && kernels.vector(slots * rows),
  };
  return {
    of: matrix.id,
    inSlots,
    wanted(expert: number, slot: number): WantedBytes {
      if (bias !== undefined && inSlots.bias !== undefined) {
        inSlots.bias.values.set(bias.values.subarray(expert * rows, (expert + 1) * rows), slot * rows);
        kernels.write(inSlots.bias);
      }
      return { range: rangeOf(expert), to: source.subarray(slot * bytes, (slot + 1) * bytes) };
    },
  };
}

function largestMatrix(layers: ReadonlyMap<number, PlacedExperts>): number {
  const all = [...layers.values()].flatMap(({ matrices }) => matrices);
  return Math.max(...all.map(({ rangeOf }) => length(rangeOf(0))));
}

function length({ from, to }: ByteRange): number {
  return to - from;
}
