import * as Plot from '@observablehq/plot';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { chartFrame } from '../lib/figure.ts';
import { flopsOf, productTimes } from './products.ts';

export const NPU = 'var(--series-5)';
export const GPU = 'var(--series-1)';
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
    ...chartFrame(width),
    height: 300,
    marginRight: 20,
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
    ...chartFrame(width),
    height: 170,
    marginLeft: 10,
    marginRight: 40,
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
