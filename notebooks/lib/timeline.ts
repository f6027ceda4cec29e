import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import type { TimelineBar } from '../../engine/trace/timeline-bars.ts';
import { RESIDENT } from '../../engine/trace/timeline-rows.ts';
import { asImage, chartWidth } from './figure.ts';
import { edgesOf, explain, KINDS, type Laid, type Place } from './timeline-rows.ts';

/** A timeline that explains what is pointed at; `at` moves its playhead. */
export interface TimelineView extends HTMLElement {
  /** @param time seconds */
  at(time: number): void;
}

const HALF = 0.42;

/**
 * A timeline of a trace. What is pointed at is explained below it. By keyboard: the arrow keys go to the next bar or gap
 * of a row, and to the next row; Enter takes the playhead there, as a click does.
 * @param seek called with the moment that the reader chooses, seconds
 */
export function timeline(laid: Laid, width: number, seek: (time: number) => void): TimelineView {
  const { rows, seconds } = laid;
  const plot = draw(laid, width);
  asImage(plot, 'What processors, disks and links do over time, and what is in memory.');
  const svg = plot.tagName === 'svg' ? (plot as SVGSVGElement) : (plot.querySelector(':scope > svg') as SVGSVGElement);
  const x = plot.scale('x') as unknown as Scale;
  const y = plot.scale('y') as unknown as Scale;
  const overlay = (name: string, attributes: Readonly<Record<string, string>>): SVGElement => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries({ 'pointer-events': 'none', ...attributes }))
      made.setAttribute(key, value);
    return svg.appendChild(made);
  };
  const head = overlay('line', {
    stroke: 'currentColor',
    'stroke-width': '2',
    y1: '18',
    y2: String(svg.getAttribute('height')),
  });
  const box = overlay('rect', {
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': '2',
    rx: '2',
    visibility: 'hidden',
  });
  const told =
    html`<p class="told" aria-live="polite">Point at a bar or a gap, or focus the timeline and press an arrow key.</p>` as HTMLElement;
  let place: Place = { row: 0, time: 0 };

  const choose = (next: Place): void => {
    place = next;
    const edges = edgesOf(laid, place.row);
    const from = edges.findLast((edge) => edge <= place.time) ?? 0;
    const to = edges.find((edge) => edge > place.time) ?? seconds;
    const middle = rows[place.row]?.y ?? 0;
    const isMemory = rows[place.row]?.lane === 'memory';
    const [left, right] = isMemory ? [place.time, place.time] : [from, to];
    const top = y.apply(middle - 0.5);
    box.setAttribute('visibility', 'visible');
    box.setAttribute('x', String(x.apply(left)));
    box.setAttribute('width', String(Math.max(2, x.apply(right) - x.apply(left))));
    box.setAttribute('y', String(top));
    box.setAttribute('height', String(y.apply(middle + 0.5) - top));
    told.textContent = explain(laid, place);
  };
  const pointed = (event: MouseEvent): Place | undefined => {
    const { left, top, width: shown } = svg.getBoundingClientRect();
    const scale = Number(svg.getAttribute('width')) / shown;
    const time = x.invert((event.clientX - left) * scale);
    const at = y.invert((event.clientY - top) * scale);
    const row = rows.findIndex((one) => Math.abs(one.y - at) <= 0.5);
    return row < 0 || time < 0 || time > seconds ? undefined : { row, time };
  };
  const step = (direction: 1 | -1): number => {
    const edges = edgesOf(laid, place.row);
    const on = edges.find((edge) => edge > place.time + 1e-9);
    const back = edges.findLast((edge) => edge < place.time - 1e-9);
    return direction === 1 ? (on !== undefined && on < seconds ? on : place.time) : (back ?? 0);
  };
  const keyed = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, () => void>> = {
      ArrowRight: () => choose({ ...place, time: step(1) }),
      ArrowLeft: () => choose({ ...place, time: step(-1) }),
      ArrowDown: () => choose({ ...place, row: Math.min(rows.length - 1, place.row + 1) }),
      ArrowUp: () => choose({ ...place, row: Math.max(0, place.row - 1) }),
      Home: () => choose({ ...place, time: 0 }),
      Enter: () => seek(place.time),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  svg.addEventListener('pointermove', (event) => {
    const at = pointed(event);
    if (at !== undefined) choose(at);
  });
  svg.addEventListener('click', (event) => {
    const at = pointed(event);
    if (at !== undefined) seek(at.time);
  });
  const view = html`<div class="timeline"><div tabindex="0" role="group" class="timeline-rows"
    aria-label="Timeline. Arrow keys move from event to event and from row to row; Enter takes the playhead there."
    onkeydown=${keyed}>${plot}</div>${told}</div>` as TimelineView;
  view.at = (time) => {
    head.setAttribute('x1', String(x.apply(time)));
    head.setAttribute('x2', String(x.apply(time)));
  };
  view.at(0);
  return view;
}

interface Scale {
  apply(value: number): number;
  invert(pixels: number): number;
}

function draw(laid: Laid, width: number): ReturnType<typeof Plot.plot> {
  const { rows, bars, seconds } = laid;
  const yOf = new Map(rows.map(({ device, lane, y }) => [`${device}/${lane}`, y]));
  const rowOf = ({ device, lane }: TimelineBar): number => yOf.get(`${device}/${lane}`) ?? 0;
  const labelOf = new Map(KINDS.map(([kind, label]) => [kind, label]));
  const shown = KINDS.filter(([kind]) => bars.some((bar) => bar.kind === kind));
  const bottom = (rows.at(-1)?.y ?? 0) + 0.6;
  const firsts = rows.filter(({ device }, index) => rows[index - 1]?.device !== device);
  return Plot.plot({
    width: chartWidth(width),
    height: 60 + 17 * bottom,
    marginLeft: 122,
    marginTop: 22,
    marginBottom: 36,
    x: { domain: [0, seconds], label: 'seconds' },
    y: {
      domain: [-0.7, bottom],
      range: [22, 60 + 17 * bottom - 36],
      ticks: rows.map(({ y }) => y),
      tickFormat: (at: number) => laneName(rows.find(({ y }) => y === at)?.lane ?? ''),
      tickSize: 0,
      label: null,
    },
    color: { domain: shown.map(([, label]) => label), range: shown.map(([, , colour]) => colour), legend: true },
    marks: [
      ...memoryAreas(laid),
      Plot.rect(bars, {
        x1: 'start',
        x2: 'end',
        y1: (bar: TimelineBar) => rowOf(bar) - HALF,
        y2: (bar: TimelineBar) => rowOf(bar) + HALF,
        fill: ({ kind }: TimelineBar) => labelOf.get(kind),
        stroke: ({ kind }: TimelineBar) => labelOf.get(kind),
        strokeWidth: 0.5,
      }),
      Plot.text(firsts, {
        x: () => 0,
        y: 'y',
        text: 'device',
        textAnchor: 'start',
        fontWeight: 700,
        dx: -120,
      }),
    ],
  });
}

function laneName(lane: string): string {
  return lane === 'cpu' ? 'processor' : lane;
}

/** Bytes in memory, as an area in its row; a device's largest value has full height. */
function memoryAreas({ trace, rows, seconds }: Laid): Plot.Markish[] {
  return rows.flatMap(({ device, lane, y }) => {
    const counter = trace.counters.find((one) => one.device === device && one.name === RESIDENT);
    if (lane !== 'memory' || counter === undefined) return [];
    const last = counter.samples.at(-1);
    const most = counter.samples.reduce((largest, { value }) => Math.max(largest, value), 1);
    const points = last === undefined ? [] : [...counter.samples, { time: seconds, value: last.value }];
    return [
      Plot.areaY(points, {
        x: 'time',
        y1: () => y + HALF,
        y2: ({ value }: { value: number }) => y + HALF - (2 * HALF * value) / most,
        curve: 'step-after',
        fill: 'currentColor',
        fillOpacity: 0.3,
      }),
    ];
  });
}
