import * as Plot from '@observablehq/plot';
import type { SplitCandidate, SplitSearch } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { chartWidth } from '../lib/figure.ts';

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
  // Two marks may stand over neighbouring bars: each is written to its own side.
  const sides = marks.length < 2 ? ['middle' as const] : (['end', 'start'] as const);
  const names = marks.toSorted((one, other) => one.k - other.k).map((mark, index) => ({ mark, side: sides[index] }));
  return Plot.plot({
    width: chartWidth(width),
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
      ...names.map(({ mark, side = 'middle' }) =>
        Plot.text([mark], { x: 'k', y: 'ms', text: 'label', textAnchor: side, dy: -22, fontWeight: 700 }),
      ),
      Plot.ruleY([0]),
    ],
  });
}
