import { createExpertCaches } from '../../experts/expert-caches.ts';
import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { ReadUnit } from '../../experts/unit-cache.ts';
import {
  type ByteRange,
  type FilePages,
  type PageBuffer,
  type PageJob,
  READ_ALIGNMENT,
  type ReadTarget,
} from '../../kernels/file-pages.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { ExpertMatrix } from '../../model/block/layer-weight.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { type ExpertRead, finishRead, isRead, nextRead } from './expert-reads.ts';
import {
  type AccessObserver,
  type LayerExperts,
  type NeededExperts,
  noReads,
  type PlacedMatrix,
} from './layer-experts.ts';
import {
  byRole,
  type ExpertBytes,
  type ExpertProduct,
  expertMatrixBytes,
  type PlacedExperts,
  slotStride,
} from './placed-experts.ts';

export interface ExpertSlotsOptions {
  readonly kernels: Pick<Kernels, 'matrix' | 'vector' | 'write'>;
  /** As many threads as reads are under way at once. */
  readonly pages: FilePages;
  /** Layers with experts, by their index. */
  readonly layers: ReadonlyMap<number, PlacedExperts>;
  readonly productOf: (layer: number, role: ExpertMatrix) => ExpertProduct;
  readonly policy: Pick<ExpertsPolicy, 'pool' | 'eviction'>;
  /** Slots of each layer, or of all together. */
  readonly slots: number;
  /** In addition, experts that pass through (passingSlots). */
  readonly passing: number;
  readonly observe?: AccessObserver | undefined;
  readonly recorder?: Pick<RunRecorder, 'span'> | undefined;
}

/** The experts of a mixture, and what was read of them. */
export interface BroughtExperts {
  /** By index of the layer. */
  readonly layers: ReadonlyMap<number, LayerExperts>;
  /** Since they were made. */
  readonly counts: ExpertReads;
}

/** Slots for experts that aren't kept: those of a token, where a policy keeps experts out. */
export function passingSlots({ eviction }: Pick<ExpertsPolicy, 'eviction'>, used: number): number {
  return eviction === 'pinned-hottest' ? used : 0;
}

/**
 * Slots for the experts of a mixture that doesn't fit into memory: a token's experts are read when a router has chosen
 * them, unless they are held, in place of others.
 */
export function createExpertSlots(options: ExpertSlotsOptions): BroughtExperts {
  const { layers, policy, slots, passing, observe, recorder } = options;
  const all = [...layers];
  const experts = all[0]?.[1].experts ?? 0;
  const caches = createExpertCaches({ policy, slots, layers: all.length, experts });
  const counts = noReads();
  const shared = policy.pool === 'all' ? createSlotMemory(options, all) : undefined;
  /** Experts of each layer that were read ahead and not needed yet. */
  const guessed = all.map(() => new Set<number>());
  const byLayer = new Map(
    all.map((own, ordinal): [number, LayerExperts] => {
      const [layer] = own;
      const memory = shared ?? createSlotMemory(options, [own]);
      const place = shared === undefined ? 0 : ordinal;
      const numberOf = (unit: number): number => unit - caches.unitOf(ordinal, 0);
      const observed = (kind: 'need' | 'bring', asked: readonly number[], read: readonly ReadUnit[]): void =>
        observe?.({ layer: ordinal, kind, experts: asked, read: read.map(({ unit }) => numberOf(unit)) });
      const start = (read: readonly ReadUnit[], what: string): void => {
        for (const one of read) counts.bytes += memory.read(place, one, numberOf(one.unit), what);
      };
      const need = (asked: readonly number[]): NeededExperts => {
        memory.release();
        const missing = caches.need(ordinal, asked);
        observed('need', asked, missing);
        counts.needs += asked.length;
        counts.reads += missing.length;
        for (const expert of guessed[ordinal] as Set<number>) if (!asked.includes(expert)) counts.wrong += 1;
        (guessed[ordinal] as Set<number>).clear();
        start(missing, `${missing.length} of ${asked.length} experts of layer ${layer}`);
        const late = memory.late(asked.map((expert) => caches.unitOf(ordinal, expert)));
        return {
          placeOf: (expert) => memory.slotOf(caches.unitOf(ordinal, expert)),
          ready: asked.filter((expert) => !late.has(caches.unitOf(ordinal, expert))),
          next() {
            const begin = performance.now() / 1000;
            const { come, waited } = nextRead(late, memory.finish);
            counts.waited += waited;
            const span = { lane: 'cpu', cause: 'disk', name: `waits for experts of layer ${layer}`, args: {} } as const;
            if (come.length > 0) recorder?.span({ ...span, start: begin, end: begin + waited });
            return come.map(numberOf);
          },
        };
      };
      const bring = (asked: readonly number[]): void => {
        const read = caches.bring(ordinal, asked);
        observed('bring', asked, read);
        counts.ahead += read.length;
        for (const { unit } of read) (guessed[ordinal] as Set<number>).add(numberOf(unit));
        start(read, `${read.length} experts of layer ${layer}, ahead`);
      };
      const placed: LayerExperts['placed'] = ({ matrix }) => memory.matrixOf(place, matrix.id);
      return [layer, { atOnce: passing > 0 ? passing : slots, need, bring, placed }];
    }),
  );
  return { layers: byLayer, counts };
}

/** Memory of slots for the experts of some layers, and the reads under way into them. */
interface SlotMemory {
  /** Starts to read an expert into a slot. @returns its bytes */
  read(place: number, unit: ReadUnit, expert: number, what: string): number;
  slotOf(unit: number): number;
  /** Reads of these units that are under way, in the order in which they were started. */
  late(units: readonly number[]): Map<number, ExpertRead>;
  finish(unit: number, read: ExpertRead): void;
  /** Frees the slots of experts that aren't kept. */
  release(): void;
  /** The slots that stand for a matrix of a layer. @param place of the layer among those of this memory */
  matrixOf(place: number, matrix: number): PlacedMatrix | undefined;
}

function createSlotMemory(
  { kernels, pages, productOf, slots, passing, recorder }: ExpertSlotsOptions,
  layers: readonly (readonly [layer: number, placed: PlacedExperts])[],
): SlotMemory {
  const room = slots + passing;
  const roles = [...byRole(layers.map(([, placed]) => placed))].map(([role, matrices]) => {
    const of = new Map([...matrices.keys()].map((place) => [place, productOf(layers[place]?.[0] as number, role)]));
    return createSlotRole({ kernels, pages, room, matrices, of });
  });
  const free = Array.from({ length: room }, (_, index) => room - 1 - index);
  const slotsOf = new Map<number, number>();
  const unkept = new Set<number>();
  /** Reads under way by unit, in the order in which they were started. */
  const underWay = new Map<number, ExpertRead>();
  /** Starts the reads of an expert's matrices, or the one of all of them, which then are in the order of the file. */
  const started = (reads: readonly MatrixRead[], together: boolean): PageJob[] => {
    const [first, last] = [reads[0], reads.at(-1)];
    if (!together || first === undefined || last === undefined)
      return reads.map(({ range, target }) => pages.read(range, [target]));
    const range = { from: first.range.from, to: last.range.to };
    return [
      pages.read(
        range,
        reads.map(({ target }) => target),
      ),
    ];
  };
  const finish = (unit: number, read: ExpertRead): void => {
    finishRead(read, recorder);
    underWay.delete(unit);
  };
  /** Takes the slot of a unit away; a read into it that is under way ends first. */
  const freed = (unit: number): number => {
    const read = underWay.get(unit);
    for (const job of read?.jobs ?? []) job.cancel();
    if (read !== undefined) finish(unit, read);
    const slot = slotsOf.get(unit) as number;
    slotsOf.delete(unit);
    return slot;
  };
  return {
    read(place, { unit, victim, kept }, expert, what) {
      const slot = victim === undefined ? (free.pop() as number) : freed(victim);
      slotsOf.set(unit, slot);
      if (!kept) unkept.add(unit);
      const reads = roles.flatMap((role) => role.take(place, expert, slot) ?? []);
      underWay.set(unit, { what, jobs: started(reads, layers[place]?.[1].together === true) });
      return reads.reduce((sum, { target: { bytes } }) => sum + bytes, 0);
    },
    slotOf: (unit) => slotsOf.get(unit) as number,
    late(units) {
      const needed = new Set(units);
      for (const [unit, read] of [...underWay]) if (isRead(read)) finish(unit, read);
      return new Map([...underWay].filter(([unit]) => needed.has(unit)));
    },
    finish,
    release() {
      for (const unit of unkept) free.push(freed(unit));
      unkept.clear();
    },
    matrixOf(place, matrix) {
      for (const role of roles) {
        const found = role.matrixOf(place);
        if (found?.of === matrix) return { ...found, experts: room };
      }
      return undefined;
    },
  };
}

/** A matrix's bytes in the file, and the place in its slot that takes them. */
interface MatrixRead {
  readonly range: ByteRange;
  readonly target: ReadTarget;
}

interface SlotRoleCase extends Pick<ExpertSlotsOptions, 'kernels' | 'pages'> {
  readonly room: number;
  /** By place of the layer among those of the memory. */
  readonly matrices: ReadonlyMap<number, ExpertBytes>;
  readonly of: ReadonlyMap<number, ExpertProduct>;
}

/** Slots for one matrix of each expert: gate, up or down. */
function createSlotRole({ kernels, pages, room, matrices, of }: SlotRoleCase) {
  const stride = slotStride([...matrices.values()]);
  const [first] = [...matrices.values()] as [ExpertBytes];
  // Slots of a single layer lie in their pages as in the file, if each is whole pages: reads go there without a copy.
  const inPages = matrices.size === 1 && stride % READ_ALIGNMENT === 0;
  const begin = inPages ? first.rangeOf(0).from % READ_ALIGNMENT : 0;
  const buffer: PageBuffer = pages.buffer(begin + room * stride);
  const vectors = new Map<string, Vector>();
  /** Values of each slot. */
  const vectorOf = (kind: 'bias' | 'scales', rows: number): Vector => {
    const known = vectors.get(`${kind} ${rows}`) ?? kernels.vector(room * rows);
    vectors.set(`${kind} ${rows}`, known);
    return known;
  };
  const placed = new Map(
    [...matrices].map(([place, own]) => {
      const { matrix, bias, scales } = of.get(place) as ExpertProduct;
      const strideRows = stride / (expertMatrixBytes(own) / own.rows);
      const rows = (room - 1) * strideRows + own.rows;
      const { type, columns } = matrix;
      const inSlots = kernels.matrix({ source: buffer.bytes, offset: begin, type, rows, columns });
      const added = { bias: bias && vectorOf('bias', own.rows), scales: scales && vectorOf('scales', 1) };
      return [place, { of: matrix.id, matrix: inSlots, ...added }];
    }),
  );
  return {
    matrixOf: (place: number) => placed.get(place),
    /** Gives a slot to an expert, whose matrix is to be read; `undefined` for a layer without this matrix. */
    take(place: number, expert: number, slot: number): MatrixRead | undefined {
      const own = matrices.get(place);
      if (own === undefined) return undefined;
      for (const [kind, count] of [
        ['bias', own.rows],
        ['scales', 1],
      ] as const) {
        const values = of.get(place)?.[kind];
        const inSlots = placed.get(place)?.[kind];
        if (values === undefined || inSlots === undefined) continue;
        inSlots.values.set(values.values.subarray(expert * count, (expert + 1) * count), slot * count);
        kernels.write(inSlots);
      }
      const range = own.rangeOf(expert);
      return { range, target: { buffer, offset: begin + slot * stride, bytes: range.to - range.from } };
    },
  };
}
