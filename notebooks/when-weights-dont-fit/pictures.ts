import * as Plot from '@observablehq/plot';
import { chartFrame, chartWidth } from '../lib/figure.ts';
import { EXTENTS, POLICIES, type PolicyName, type ReadPoint, type Scan } from './scan.ts';

/** A point of the curve that was measured. */
export interface MeasuredPoint {
  readonly room: number;
  readonly read: number;
}

/** Every moment of a scan as a row: what is resident (blue), and the extent in use (orange: it was read). */
export function residency({ moments }: Scan, width: number): Element {
  const ranges = moments.flatMap(({ token, extent, resident }) =>
    resident.map(({ from, to }) => ({ moment: token * EXTENTS + extent, from, to })),
  );
  const reads = moments
    .filter(({ wasRead }) => wasRead)
    .map(({ token, extent }) => ({ moment: token * EXTENTS + extent, extent }));
  return Plot.plot({
    width: chartWidth(width),
    height: 360,
    x: { label: 'position in the weights (first to last layer)', domain: [0, EXTENTS], ticks: [] },
    y: {
      label: 'token',
      domain: [moments.length, 0],
      ticks: Array.from({ length: moments.length / EXTENTS }, (_, token) => token * EXTENTS),
      tickFormat: (at: number) => String(at / EXTENTS + 1),
    },
    marks: [
      Plot.rect(ranges, {
        x1: 'from',
        x2: 'to',
        y1: 'moment',
        y2: ({ moment }: { moment: number }) => moment + 1,
        fill: 'var(--series-1)',
        fillOpacity: 0.45,
      }),
      Plot.rect(reads, {
        x1: 'extent',
        x2: ({ extent }: { extent: number }) => extent + 1,
        y1: ({ moment }: { moment: number }) => moment - 2,
        y2: ({ moment }: { moment: number }) => moment + 3,
        fill: 'var(--series-2)',
      }),
    ],
  });
}

/** The reader's choices. */
interface Chosen {
  readonly policy: PolicyName;
  /** Share that fits. */
  readonly room: number;
}

/**
 * Bytes that a token reads in steady state against the share that fits, for every policy, with what was measured; the
 * reader's own marked.
 */
export function curvesPicture(
  points: readonly ReadPoint[],
  { policy: own, room }: Chosen,
  measured: readonly MeasuredPoint[],
  width: number,
): Element {
  return Plot.plot({
    ...chartFrame(width),
    height: 300,
    marginRight: 20,
    x: { label: 'share of the weights that fits in memory', percent: true, grid: true },
    y: { label: 'share read for every token', percent: true, grid: true },
    color: {
      domain: Object.keys(POLICIES),
      range: ['var(--series-2)', 'var(--series-3)', 'var(--series-1)', 'var(--series-4)'],
      legend: true,
    },
    marks: [
      Plot.line(points, {
        x: 'room',
        y: 'read',
        stroke: 'policy',
        strokeWidth: ({ policy }: { policy: string }) => (policy === own ? 3 : 1.5),
      }),
      Plot.dot(measured, { x: 'room', y: 'read', r: 5, fill: 'currentColor' }),
      Plot.text(measured.slice(0, 1), {
        x: 'room',
        y: 'read',
        text: () => 'measured',
        dy: 16,
        textAnchor: 'start',
      }),
      Plot.ruleX([room], { strokeDasharray: '4 3' }),
    ],
  });
}
