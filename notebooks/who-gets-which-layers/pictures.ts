import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import { formatSeconds } from '../../engine/input/format.ts';
import { chartFrame } from '../lib/figure.ts';
import type { Assigned, Assignment, Share, Step } from './assignments.ts';
import { SCHEDULER_LABELS } from './assignments.ts';

const COLOURS = [
  'var(--series-1)',
  'var(--series-2)',
  'var(--series-3)',
  'var(--series-4)',
  'var(--series-5)',
  'var(--series-6)',
];

/** Layers of each device under each assignment; those on GPUs in brackets. */
export function assignmentTable({ devices, assignments }: Assigned): HTMLElement {
  const cell = ({ layers, gpuLayers }: Share): string => (gpuLayers > 0 ? `${layers} (${gpuLayers})` : String(layers));
  const row = ({ scheduler, tokenSeconds, problem, rounds, shares }: Assignment): HTMLElement =>
    tokenSeconds === undefined
      ? (html`<tr><th scope="row">${SCHEDULER_LABELS[scheduler]}</th><td colspan=${devices.length + 2}>no plan: ${problem}</td></tr>` as HTMLElement)
      : (html`<tr><th scope="row">${SCHEDULER_LABELS[scheduler]}</th><td>${formatSeconds(tokenSeconds)}</td><td>${rounds}</td>
        ${shares.map((share) => html`<td>${cell(share)}</td>`)}</tr>` as HTMLElement);
  return html`<div class="wide" tabindex="0" role="region" aria-label="Assignments"><table class="now"><caption>Layers, of them on the GPU in brackets</caption>
    <thead><tr><th>scheduler</th><th>a token</th><th>k</th>${devices.map((name) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>${assignments.map(row)}</tbody></table></div>` as HTMLElement;
}

/** One pass of Halda's loop by device: what it assumes, and what it finds. */
export function stepTable({ devices, windows, sets, best }: Step): HTMLElement {
  const meaning = (set: string): string => (set === 'M4' ? 'M4: fits' : `${set}: overloaded`);
  return html`<div class="wide" tabindex="0" role="region" aria-label="A pass of Halda’s loop"><table class="now">
    <thead><tr><th>this pass</th>${devices.map((name) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>
      <tr><th scope="row">guess from windows of</th>${windows.map((window) => html`<td>${window}</td>`)}</tr>
      <tr><th scope="row">set</th>${sets.map((set) => html`<td>${meaning(set)}</td>`)}</tr>
      <tr><th scope="row">best windows so far</th>${
        best === undefined
          ? html`<td colspan=${devices.length}>none: no k has a solution with these sets</td>`
          : best.windows.length === devices.length
            ? best.windows.map((window) => html`<td>${window}</td>`)
            : html`<td colspan=${devices.length}>those of an earlier pass, with more devices</td>`
      }</tr>
    </tbody></table></div>` as HTMLElement;
}

/** A sentence on what a pass does. */
export function tellStep(step: Step, number: number, isLast: boolean): string {
  const { tried, best, forced, devices } = step;
  const found = tried.reduce<Step['tried'][number] | undefined>(
    (least, one) => (least === undefined || one.seconds < least.seconds ? one : least),
    undefined,
  );
  const programs =
    found === undefined
      ? 'no k has a solution with these sets'
      : `of the ${tried.length} numbers of rounds with a solution, k = ${found.rounds} is best: ${formatSeconds(found.seconds)}`;
  const then =
    forced === undefined
      ? isLast
        ? `The sets that follow are the same again, so Halda ends here, with ${best === undefined ? 'nothing' : formatSeconds(best.seconds)}.`
        : 'The sets are guessed anew from this solution.'
      : `A GPU or a fast disk has room while others are overloaded, so ${forced}, with the slowest disk of them, is forced into M4.`;
  return `Pass ${number}, ${devices.length} ${devices.length === 1 ? 'device' : 'devices'}: ${programs}. ${then}`;
}

/** Seconds of every device by its layers, with what each assignment gives it. */
export function curves({ devices, curves: all, assignments, layers }: Assigned, width: number): Element {
  const least = Math.min(...assignments.map(({ tokenSeconds }) => tokenSeconds ?? Number.POSITIVE_INFINITY));
  const most = 2000 * least;
  const lines = all.flatMap((seconds, index) =>
    seconds
      .map((value, count) => ({ device: devices[index], layers: count, ms: 1000 * value }))
      .filter(({ ms }) => ms <= most),
  );
  const dots = assignments.flatMap(({ scheduler, shares, tokenSeconds }) =>
    tokenSeconds === undefined || scheduler === 'halda-repaired'
      ? []
      : shares.map(({ layers: count }, index) => ({
          device: devices[index],
          layers: count,
          ms: 1000 * (all[index]?.[count] ?? Number.NaN),
          scheduler: SCHEDULER_LABELS[scheduler],
        })),
  );
  return Plot.plot({
    ...chartFrame(width),
    height: 300,
    marginTop: 24,
    x: { label: 'layers of the device', domain: [0, layers] },
    y: { label: 'milliseconds that it adds to a token', domain: [0, most], grid: true },
    color: { domain: devices, range: COLOURS, legend: true },
    symbol: { domain: ['Halda as printed', 'the exact optimum'], range: ['times', 'circle'], legend: true },
    marks: [
      Plot.line(lines, { x: 'layers', y: 'ms', stroke: 'device', strokeWidth: 2 }),
      Plot.dot(
        dots.filter(({ ms }) => ms <= most),
        { x: 'layers', y: 'ms', stroke: 'device', symbol: 'scheduler', r: 6, strokeWidth: 2 },
      ),
      Plot.ruleY([0]),
    ],
  });
}

/** The time of a token on the way from Halda's plan to the optimum, one change after the other. */
export function landscape({ path }: Assigned, width: number): Element {
  const points = path.map(({ what, tokenSeconds }, step) => ({ step, what, ms: 1000 * tokenSeconds }));
  return Plot.plot({
    ...chartFrame(width),
    height: 260,
    marginTop: 24,
    marginRight: 60,
    x: {
      label: 'changes from Halda’s plan',
      ticks: points.map(({ step }) => step).filter((step) => step % Math.ceil(points.length / 10) === 0),
      tickFormat: 'd',
    },
    y: { label: 'milliseconds of a token', zero: true, grid: true },
    marks: [
      Plot.lineY(points, { x: 'step', y: 'ms', stroke: 'var(--series-1)' }),
      Plot.dot(points, {
        x: 'step',
        y: 'ms',
        fill: 'var(--series-1)',
        title: ({ what, ms }) => `${what}: ${ms.toFixed(0)} ms`,
      }),
      Plot.text(points.slice(0, 1), {
        x: 'step',
        y: 'ms',
        text: ['Halda'],
        dx: 4,
        dy: -10,
        textAnchor: 'start',
        fontWeight: 700,
      }),
      Plot.text(points.slice(-1), { x: 'step', y: 'ms', text: ['optimum'], dy: -10, fontWeight: 700 }),
    ],
  });
}

/** The changes of the way in order, like ones together. */
export function tellPath({ path }: Assigned): string {
  const changes: { what: string; count: number }[] = [];
  for (const { what } of path.slice(1)) {
    const last = changes.at(-1);
    if (last?.what === what) last.count += 1;
    else changes.push({ what, count: 1 });
  }
  return changes.map(({ what, count }) => (count === 1 ? what : `${what}, ${count} times`)).join('; ');
}
