import * as Plot from '@observablehq/plot';
import type { SplitCandidate, SplitSearch } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { chartFrame } from '../lib/figure.ts';

/** Bars between which two names don't fit side by side. */
const CLOSE = 6;

/** The search curve: T_plan by its parts over k, splits that don't fit shaded, the best and the reader's own marked. */
export function curve({ curve: candidates, best }: SplitSearch, chosen: number, width: number): Element {
  const parts = candidates.flatMap((candidate) => [
    { k: candidate.cpuUnits, part: 'CPU', ms: 1000 * candidate.cpuSeconds, fits: candidate.feasible },
    { k: candidate.cpuUnits, part: 'GPU', ms: 1000 * candidate.gpuSeconds, fits: candidate.feasible },
    { k: candidate.cpuUnits, part: 'crossing', ms: 1000 * candidate.copySeconds, fits: candidate.feasible },
  ]);
  const marked = (one: SplitCandidate | undefined, label: string) =>
    one === undefined ? [] : [{ k: one.cpuUnits, ms: 1000 * one.tokenSeconds, label }];
  const own = candidates[chosen];
  const marks = own === best ? marked(best, 'best, and yours') : [...marked(best, 'best'), ...marked(own, 'yours')];
  // Bars grow to the right, so names stand on the left; those over neighbouring bars each on their own side.
  const [first, last] = marks.toSorted((one, other) => one.k - other.k);
  const isClose = first !== undefined && last !== undefined && last.k - first.k < CLOSE;
  const names = marks.map((mark) => ({ mark, side: isClose && mark === last ? ('start' as const) : ('end' as const) }));
  return Plot.plot({
    ...chartFrame(width),
    height: 320,
    x: {
      label: 'k: units on the CPU (embedding, layers, output projection)',
      type: 'band',
      ticks: candidates.map(({ cpuUnits }) => cpuUnits).filter((k) => k % 5 === 0),
    },
    y: { label: 'milliseconds of one token', grid: true },
    color: {
      domain: ['CPU', 'GPU', 'crossing'],
      range: ['var(--series-2)', 'var(--series-1)', 'var(--series-3)'],
      legend: true,
    },
    opacity: { domain: [0, 1], range: [0.25, 1] },
    marks: [
      Plot.barY(
        parts,
        Plot.stackY({ x: 'k', y: 'ms', fill: 'part', fillOpacity: ({ fits }: { fits: boolean }) => (fits ? 1 : 0.25) }),
      ),
      Plot.text(marks, { x: 'k', y: 'ms', text: () => '↓', dy: -8, fontWeight: 700 }),
      ...names.map(({ mark, side }) =>
        Plot.text([mark], { x: 'k', y: 'ms', text: 'label', textAnchor: side, dy: -22, fontWeight: 700 }),
      ),
      Plot.ruleY([0]),
    ],
  });
}
