import * as Plot from '@observablehq/plot';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { chartWidth } from '../lib/figure.ts';
import { type CostedCut, type PromptTime, SYSTEMS } from './cuts.ts';
import { flopsOf, productTimes } from './products.ts';

const NPU = 'var(--series-5)';
const GPU = 'var(--series-1)';
const MOST_COLUMNS = 512;

/** Milliseconds of [M, N] × [N, K] against K: a staircase on the NPU, a line on the GPU; the reader's own K marked. */
export function staircase(device: ChipDevice, rows: number, inner: number, own: number, width: number): Element {
  const points = Array.from({ length: MOST_COLUMNS }, (_, index) => {
    const columns = index + 1;
    return { columns, times: productTimes(device, { rows, inner, columns }) };
  });
  const lines = points.flatMap(({ columns, times }) => [
    { columns, ms: 1000 * times.npu, on: 'NPU' },
    { columns, ms: 1000 * times.gpu, on: 'GPU' },
  ]);
  const most = Math.max(...points.map(({ times }) => 2500 * times.npu));
  return Plot.plot({
    width: chartWidth(width),
    height: 300,
    marginRight: 20,
    marginBottom: 40,
    x: { label: 'K: columns (tokens)', domain: [0, MOST_COLUMNS] },
    y: { label: 'milliseconds', grid: true, domain: [0, most] },
    color: { domain: ['NPU', 'GPU'], range: [NPU, GPU], legend: true },
    marks: [
      Plot.line(lines, { x: 'columns', y: 'ms', stroke: 'on', strokeWidth: 2, clip: true }),
      Plot.ruleX([Math.min(own, MOST_COLUMNS)], { strokeDasharray: '4 3' }),
      Plot.ruleY([0]),
    ],
  });
}

/** TFLOP/s of a product on the NPU, in both orders, and on the GPU. */
export function rateBars(
  device: ChipDevice,
  product: { readonly rows: number; readonly inner: number; readonly columns: number },
  width: number,
): Element {
  const { npu, reversed, gpu } = productTimes(device, product);
  const { rows, inner, columns } = product;
  const rate = (seconds: number): number => flopsOf(product) / seconds / 1e12;
  const bars = [
    { name: `NPU, [${rows}, ${inner}] × [${inner}, ${columns}]`, on: 'NPU', rate: rate(npu) },
    { name: `NPU, [${columns}, ${inner}] × [${inner}, ${rows}]`, on: 'NPU', rate: rate(reversed) },
    { name: 'GPU, either way', on: 'GPU', rate: rate(gpu) },
  ];
  return Plot.plot({
    width: chartWidth(width),
    height: 170,
    marginLeft: 10,
    marginRight: 40,
    marginBottom: 40,
    x: { label: 'TFLOP/s', domain: [0, 1.1 * (device.npu.flops.F16 / 1e12)], grid: true },
    y: { label: null, axis: null, domain: bars.map(({ name }) => name) },
    color: { domain: ['NPU', 'GPU'], range: [NPU, GPU] },
    marks: [
      Plot.barX(bars, { x: 'rate', y: 'name', fill: 'on', fillOpacity: 0.55 }),
      Plot.text(bars, {
        x: () => 0,
        y: 'name',
        text: ({ name, rate: tera }) => `${name}: ${tera.toFixed(2)}`,
        textAnchor: 'start',
        dx: 6,
      }),
      Plot.ruleX([device.npu.flops.F16 / 1e12], { strokeDasharray: '4 3' }),
      Plot.ruleX([0]),
    ],
  });
}

/** T_total against the NPU's share of the rows; the best cut and the reader's own marked. */
export function cutLine(curve: readonly CostedCut[], rows: number, own: CostedCut, width: number): Element {
  const ms = ({ cost }: CostedCut): number => 1000 * cost.seconds;
  const share = ({ cut }: CostedCut): number => (100 * cut.npuRows) / rows;
  const best = curve.reduce((least, one) => (one.cost.seconds < least.cost.seconds ? one : least));
  const parts = curve.flatMap((one) => [
    { share: share(one), ms: 1000 * one.cost.ends.first, on: 'GPU' },
    { share: share(one), ms: 1000 * one.cost.ends.second, on: 'NPU' },
  ]);
  const marked =
    own === best
      ? [{ one: best, text: 'best, and yours' }]
      : [
          { one: best, text: 'best' },
          { one: own, text: 'yours' },
        ];
  return Plot.plot({
    width: chartWidth(width),
    height: 300,
    marginRight: 30,
    marginBottom: 40,
    x: { label: 'share of the rows on the NPU (%)', domain: [0, 100] },
    y: { label: 'milliseconds', grid: true, domain: [0, 1.15 * Math.max(...curve.map(ms))] },
    color: { domain: ['GPU', 'NPU'], range: [GPU, NPU], legend: true },
    marks: [
      Plot.line(parts, { x: 'share', y: 'ms', stroke: 'on', strokeWidth: 1.5 }),
      Plot.line(curve, { x: share, y: ms, strokeWidth: 3, stroke: 'currentColor' }),
      Plot.dot(marked, { x: ({ one }) => share(one), y: ({ one }) => ms(one), r: 5, fill: 'currentColor' }),
      Plot.text(marked, {
        x: ({ one }) => share(one),
        y: ({ one }) => ms(one),
        text: 'text',
        dy: -14,
        fontWeight: 700,
      }),
      Plot.ruleY([0]),
    ],
  });
}

const SYSTEM_COLOURS = [GPU, 'var(--series-2)', NPU, 'var(--series-4)', 'var(--series-3)'];

/** Tokens per second of a prompt against its length, for every system; the reader's own length marked. */
export function lengthCurves(times: readonly PromptTime[], own: number, width: number): Element {
  const names = Object.values(SYSTEMS);
  return Plot.plot({
    width: chartWidth(width),
    height: 320,
    marginRight: 20,
    marginBottom: 40,
    x: { label: 'tokens of the prompt' },
    y: { label: 'tokens per second', grid: true, domain: [0, 280] },
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
