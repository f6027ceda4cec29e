import * as Plot from '@observablehq/plot';
import { GPU, NPU } from '../an-npus-temper/pictures.ts';
import { chartFrame } from '../lib/figure.ts';
import { type PromptTime, SYSTEMS } from './prompt-times.ts';

const SYSTEM_COLOURS = [GPU, 'var(--series-2)', NPU, 'var(--series-4)', 'var(--series-3)'];

/** Tokens per second of a prompt against its length, for every system; the reader's own length marked. */
export function lengthCurves(times: readonly PromptTime[], own: number, width: number): Element {
  const names = Object.values(SYSTEMS);
  return Plot.plot({
    ...chartFrame(width),
    height: 320,
    marginRight: 20,
    x: { label: 'tokens of the prompt' },
    y: { label: 'tokens per second', grid: true, domain: [0, 310] },
    color: { domain: names, range: SYSTEM_COLOURS, legend: true },
    marks: [
      Plot.line(times, {
        x: 'tokens',
        y: 'tokensPerSecond',
        stroke: ({ system }: PromptTime) => SYSTEMS[system],
        strokeWidth: 2,
      }),
      Plot.ruleX([own], { strokeDasharray: '4 3' }),
      Plot.ruleY([0]),
    ],
  });
}
