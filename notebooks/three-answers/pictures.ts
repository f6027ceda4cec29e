import * as Plot from '@observablehq/plot';
import { formatDeviation, formatSeconds } from '../../engine/input/format.ts';
import type { TokenFigures } from '../../engine/trace/token-figures.ts';
import { chartFrame } from '../lib/figure.ts';
import type { Answers } from './answers.ts';
import type { AnsweredRun } from './ask.ts';

/** The answers' names, and their colours. */
const NAMES = {
  predicted: 'predicted (A.3)',
  overlapped: 'predicted with overlap',
  simulated: 'simulated',
} as const;
const COLOURS = ['var(--series-2)', 'var(--series-4)', 'var(--series-1)'];
const KINDS = Object.keys(NAMES) as (keyof typeof NAMES)[];

/** One plan's answers as bars; the measured time is the dashed line. */
export function answerBars(answers: Answers, measured: Pick<TokenFigures, 'seconds'>, width: number): Element {
  const bars = KINDS.map((kind) => ({ name: NAMES[kind], seconds: answers[kind].seconds }));
  const most = Math.max(measured.seconds, ...bars.map(({ seconds }) => seconds));
  const text = ({ seconds }: { seconds: number }): string =>
    `${formatSeconds(seconds)} (${formatDeviation(seconds / measured.seconds)})`;
  return Plot.plot({
    ...chartFrame(width),
    height: 190,
    marginLeft: 140,
    marginTop: 30,
    x: { label: 'seconds of a token', domain: [0, 1.05 * most], grid: true },
    y: { label: null, domain: Object.values(NAMES) },
    color: { domain: Object.values(NAMES), range: COLOURS },
    marks: [
      Plot.barX(bars, { x: 'seconds', y: 'name', fill: 'name', fillOpacity: 0.55 }),
      Plot.text(bars, { x: () => 0, y: 'name', text, textAnchor: 'start', dx: 6 }),
      Plot.ruleX([measured.seconds], { strokeDasharray: '4 3', strokeWidth: 2 }),
      Plot.text([measured], {
        x: 'seconds',
        frameAnchor: 'top',
        text: () => `measured: ${formatSeconds(measured.seconds)}`,
        textAnchor: measured.seconds > 0.5 * most ? 'end' : 'start',
        dy: -16,
        fontWeight: 700,
      }),
      Plot.ruleX([0]),
    ],
  });
}

/** Every plan's answers as factors of what was measured; the chosen one is larger. */
export function ratioDots(all: readonly AnsweredRun[], chosen: number, width: number): Element {
  const dots = all.flatMap(({ run, answers }) =>
    KINDS.map((kind) => ({
      name: NAMES[kind],
      measured: run.measured.seconds,
      ratio: answers[kind].seconds / run.measured.seconds,
      chosen: run.plan === chosen,
    })),
  );
  return Plot.plot({
    ...chartFrame(width),
    height: 320,
    marginRight: 20,
    x: {
      type: 'log',
      label: 'measured seconds of a token',
      domain: [0.05, 6],
      ticks: [0.1, 0.2, 0.5, 1, 2, 5],
      tickFormat: String,
    },
    y: {
      type: 'log',
      label: 'answer ÷ measured',
      domain: [0.3, 5],
      grid: true,
      ticks: [0.5, 1, 2, 4],
      tickFormat: (ratio: number) => `${ratio} ×`,
    },
    color: { domain: Object.values(NAMES), range: COLOURS, legend: true },
    marks: [
      Plot.ruleY([1], { strokeWidth: 2 }),
      Plot.dot(dots, {
        x: 'measured',
        y: 'ratio',
        fill: 'name',
        r: ({ chosen: isChosen }: { chosen: boolean }) => (isChosen ? 8 : 4),
        stroke: 'var(--theme-background)',
        fillOpacity: 0.8,
      }),
    ],
    r: { type: 'identity' },
  });
}
