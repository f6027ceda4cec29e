import type { FilePages } from '../../kernels/file-pages.ts';
import type { ExpertMatrix } from '../../model/block/layer-weight.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { type ExpertRead, finishRead, nextRead } from './expert-reads.ts';
import type { BroughtExperts } from './expert-slots.ts';
import { type AccessObserver, type LayerExperts, noReads } from './layer-experts.ts';
import type { ExpertProduct, PlacedExperts } from './placed-experts.ts';

export interface MappedExpertsOptions {
  /** As many threads as reads are under way at once. */
  readonly pages: FilePages;
  /** Layers with experts, by their index. */
  readonly layers: ReadonlyMap<number, PlacedExperts>;
  readonly productOf: (layer: number, role: ExpertMatrix) => ExpertProduct;
  readonly observe?: AccessObserver | undefined;
  readonly recorder?: Pick<RunRecorder, 'span'> | undefined;
}

/**
 * Experts as pages of the mapped file: those that a token needs are read and mapped together when a router has chosen
 * them, and the operating system's page cache decides which stay. An expert counts as read if bytes came from the disk.
 */
export function createMappedExperts(options: MappedExpertsOptions): BroughtExperts {
  const { pages, layers, productOf, observe, recorder } = options;
  const counts = noReads();
  const byLayer = new Map(
    [...layers].map(([layer, { experts, matrices }], ordinal): [number, LayerExperts] => {
      const products = matrices.map(({ role }) => productOf(layer, role));
      const start = (expert: number, what: string): ExpertRead => ({
        what,
        jobs: matrices.map(({ rangeOf }) => pages.start('populate', rangeOf(expert))),
      });
      const isResident = (expert: number): boolean =>
        matrices.every(({ rangeOf }) => {
          const range = rangeOf(expert);
          return pages.resident(range) === range.to - range.from;
        });
      /** Bytes that came from the disk. */
      const finished = (read: ExpertRead): number => {
        const bytes = finishRead(read, recorder).reduce((sum, outcome) => sum + outcome.bytes, 0);
        counts.bytes += bytes;
        return bytes;
      };
      /** Experts that are read ahead of their need. */
      const guessed = new Map<number, ExpertRead>();
      const need: LayerExperts['need'] = (asked) => {
        counts.needs += asked.length;
        for (const [expert, read] of guessed) {
          const bytes = finished(read);
          if (bytes > 0) counts.ahead += 1;
          if (bytes > 0 && !asked.includes(expert)) counts.wrong += 1;
        }
        guessed.clear();
        const what = `${asked.length} experts of layer ${layer}`;
        const late = new Map(asked.map((expert) => [expert, start(expert, what)]));
        const read: number[] = [];
        return {
          placeOf: (expert) => expert,
          ready: [],
          next() {
            const { come, waited } = nextRead(late, (expert, one) => {
              if (finished(one) > 0) read.push(expert);
            });
            counts.waited += waited;
            if (come.length > 0 && late.size === 0) {
              counts.reads += read.length;
              observe?.({ layer: ordinal, kind: 'need', experts: asked, read });
            }
            return come;
          },
        };
      };
      // Populating what is in memory would count as a use of it, and Linux would keep it for a guess.
      const bring = (asked: readonly number[]): void => {
        for (const expert of asked)
          if (!isResident(expert)) guessed.set(expert, start(expert, `experts of layer ${layer}, ahead`));
      };
      const placed: LayerExperts['placed'] = ({ matrix, bias, scales, experts: count }) =>
        products.some((own) => own.matrix.id === matrix.id) ? { matrix, bias, scales, experts: count } : undefined;
      return [layer, { atOnce: experts, need, bring, placed }];
    }),
  );
  return { layers: byLayer, counts };
}
