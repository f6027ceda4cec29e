import * as Plot from '@observablehq/plot';
import { enumerate, formatSeconds } from '../../engine/input/format.ts';
import { chartFrame, chartWidth } from '../lib/figure.ts';
import { OWN_LAYERS, type Scene, type Step } from './scene.ts';

const RESIDENT = 'var(--series-1)';
const READ = 'var(--series-2)';

/** The step that a moment belongs to: the last one that began by then. */
export function stepAt({ steps }: Scene, time: number): number {
  return Math.max(
    0,
    steps.findLastIndex((step) => step.time <= time * (1 + 1e-9)),
  );
}

function label({ event, layer, waited }: Step): string {
  switch (event) {
    case 'begin':
      return 'the token begins';
    case 'prefetched':
      return `prefetched ${layer}`;
    case 'computes':
      return waited ? `waited for ${layer}` : `computes ${layer}`;
    case 'computed':
      return `computed ${layer}`;
    case 'released':
      return 'window released';
  }
}

/** Memory row by row, from the top down: a box per layer, blue as far as it is in memory. */
export function memoryRows(scene: Scene, at: number, width: number): Element {
  const { steps } = scene;
  const layers = Array.from({ length: OWN_LAYERS }, (_, index) => index + 1);
  const boxes = steps.flatMap(({ resident }, row) =>
    resident.map((share, index) => ({ row, left: index + 0.56, right: index + 0.56 + 0.88 * share })),
  );
  const marks = steps.flatMap(({ event, layer, waited }, row) =>
    event === 'computes' && layer !== undefined ? [{ row, layer, waited }] : [],
  );
  const current = steps.flatMap((_, row) => (row === at ? [{ row }] : []));
  const top = ({ row }: { row: number }): number => row - 0.36;
  const bottom = ({ row }: { row: number }): number => row + 0.36;
  return Plot.plot({
    width: chartWidth(width),
    height: 50 + 25 * steps.length,
    marginLeft: 132,
    marginTop: 36,
    x: {
      domain: [0.5, OWN_LAYERS + 0.5],
      ticks: layers,
      tickFormat: String,
      axis: 'top',
      label: 'layer of the device',
      tickSize: 0,
    },
    y: {
      domain: [steps.length - 0.5, -0.5],
      ticks: steps.map((_, row) => row),
      tickFormat: (row: number) => label(steps[row] as Step),
      tickSize: 0,
      label: null,
    },
    marks: [
      Plot.rect(current, {
        x1: 0.5,
        x2: OWN_LAYERS + 0.5,
        y1: ({ row }) => row - 0.5,
        y2: ({ row }) => row + 0.5,
        fill: 'currentColor',
        fillOpacity: 0.16,
      }),
      Plot.rect(boxes, {
        x1: 'left',
        x2: ({ left }: { left: number }) => left + 0.88,
        y1: top,
        y2: bottom,
        stroke: 'currentColor',
        strokeOpacity: 0.4,
      }),
      Plot.rect(boxes, { x1: 'left', x2: 'right', y1: top, y2: bottom, fill: RESIDENT, fillOpacity: 0.75 }),
      Plot.dot(marks, {
        x: 'layer',
        y: 'row',
        r: 6,
        symbol: ({ waited }: { waited: boolean }) => (waited ? 'square' : 'circle'),
        fill: ({ waited }: { waited: boolean }) => (waited ? READ : 'white'),
        stroke: 'white',
      }),
    ],
  });
}

function layersText(layers: readonly number[]): string {
  return `${layers.length === 1 ? 'layer' : 'layers'} ${enumerate(layers.map(String))}`;
}

function sentence(text: string): string {
  return ` ${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A sentence or two on what has happened at a step. */
export function tellStep({ steps }: Scene, at: number): string {
  const step = steps[at] as Step;
  const before = steps[at - 1]?.resident ?? step.resident;
  const lost = step.resident.flatMap((share, index) => (share < (before[index] as number) - 0.01 ? [index + 1] : []));
  const pushed = lost.length === 0 ? '' : `${sentence(layersText(lost))} had to make room.`;
  const when = `At ${formatSeconds(step.time)}: `;
  switch (step.event) {
    case 'begin': {
      const there = step.resident.flatMap((share, index) => (share > 0.01 ? [index + 1] : []));
      return `${when}a token begins. ${there.length === 0 ? 'Nothing is in memory.' : `In memory, at least in part: ${layersText(there)}.`}`;
    }
    case 'prefetched':
      return `${when}layer ${step.layer} has been prefetched, while the rest of the ring computes.${pushed}`;
    case 'computes':
      return step.waited
        ? `${when}layer ${step.layer} is computed. It wasn’t in memory, so the device waited for its disk.${pushed}`
        : `${when}layer ${step.layer} is in memory, and is computed at once.${pushed}`;
    case 'computed':
      return `${when}layer ${step.layer} is computed.${pushed}`;
    case 'released':
      return `${when}the device releases the window that it has used.${pushed}`;
  }
}

/** Bytes read for a token, as a multiple of the device's weights, for every number of rounds. */
export function roundsBars(
  scenes: readonly (Scene & { readonly rounds: number })[],
  chosen: number,
  width: number,
): Element {
  const bars = scenes.map(({ rounds, timesRead, tokenSeconds }) => ({
    rounds,
    timesRead,
    text: `${timesRead.toFixed(2)} ×, ${formatSeconds(tokenSeconds)}`,
  }));
  return Plot.plot({
    ...chartFrame(width),
    height: 70 + 34 * bars.length,
    marginLeft: 60,
    marginRight: 110,
    x: { label: 'times that the device reads its weights for a token', domain: [0, 2], grid: true },
    y: { label: null, type: 'band', tickFormat: (rounds: number) => `k = ${rounds}` },
    marks: [
      Plot.barX(bars, {
        x: 'timesRead',
        y: 'rounds',
        fill: RESIDENT,
        fillOpacity: ({ rounds }: { rounds: number }) => (rounds === chosen ? 0.9 : 0.4),
      }),
      Plot.text(bars, { x: 'timesRead', y: 'rounds', text: 'text', textAnchor: 'start', dx: 6 }),
      Plot.ruleX([1], { strokeDasharray: '4 3' }),
      Plot.ruleX([0]),
    ],
  });
}
