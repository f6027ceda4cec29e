import type { StreamedRequest } from '../../engine/batch/request-stream.ts';
import { sampleOf } from '../../engine/profile/sample.ts';
import type { ServedFigures } from '../../engine/trace/served-requests.ts';
import { type Load, requestsAt } from './loads.ts';

/** Figures of a load that are compared. */
export const FIGURES = ['firstTokenSeconds', 'tokenSeconds'] as const;
export type Figure = (typeof FIGURES)[number];
export const SHARES = ['p50', 'p95'] as const;
export type Share = (typeof SHARES)[number];

/** Half the range of the middle half of a figure over several draws, as a share of its median. */
export type DrawSpreads = Readonly<Record<Figure, Readonly<Record<Share, number>>>>;

/** How requests of a load are drawn. */
export type Drawn = Parameters<typeof requestsAt>[1];

const DRAWS = 20;

/** How far figures of a load lie apart for as many requests of other seeds. */
export function drawSpreads(
  load: Load,
  drawn: Drawn,
  simulated: (requests: readonly StreamedRequest[]) => ServedFigures,
): DrawSpreads {
  const found = Array.from({ length: DRAWS }, (_, index) =>
    simulated(requestsAt(load, { ...drawn, seed: drawn.seed + 1 + index })),
  );
  const spread = (figure: Figure, share: Share): number =>
    sampleOf(found.map((figures) => figures[figure]?.[share] ?? Number.NaN)).spread;
  const of = (figure: Figure) => ({ p50: spread(figure, 'p50'), p95: spread(figure, 'p95') });
  return { firstTokenSeconds: of('firstTokenSeconds'), tokenSeconds: of('tokenSeconds') };
}
