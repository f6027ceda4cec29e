import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { formatPercent, threeDigits } from '../../engine/input/format.ts';
import { orderGain } from '../papers/heterollm/order.ts';
import { barChart, type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { BandwidthBar } from './bandwidth.ts';
import {
  type Curve,
  gpuCurve,
  gpuThreshold,
  graphCurves,
  orderCurves,
  type StatedPoint,
  stageCurve,
} from './figures.ts';
import { BAND, type BandRow } from './sensitivity.ts';

export const SUMMARY =
  'A GPU reaches its full speed only from a certain tensor size on. An NPU pads to its array, so its time is a staircase. The operand that stays in the array must fit on the chip, so the order and shape of a product matter. NPU graphs are static, and larger ones take longer to generate. Neither processor alone uses the memory’s whole bandwidth.';

export const STATED: readonly Column<StatedPoint>[] = [
  { title: 'figure', value: ({ figure }) => figure, label: true },
  { title: 'what', value: ({ what }) => what },
  { title: 'published', value: ({ published }) => published },
  { title: 'model', value: ({ model }) => model, wraps: true },
];

/** A point of a curve. */
interface CurveRow {
  readonly figure: string;
  readonly name: string;
  readonly x: number;
  readonly y: number | undefined;
}

export const CURVES: readonly Column<CurveRow>[] = [
  { key: 'figure', value: ({ figure }) => figure },
  { key: 'curve', value: ({ name }) => name },
  { key: 'x', value: ({ x }) => x },
  { key: 'y', value: ({ y }) => y },
];

/** @param figures curves by figure */
export function curveRows(figures: Readonly<Record<string, readonly Curve[]>>): CurveRow[] {
  return Object.entries(figures).flatMap(([figure, curves]) =>
    curves.flatMap(({ name, x, y }) => x.map((size, index) => ({ figure, name, x: size, y: y[index] }))),
  );
}

/** The paper's statements about its Figs. 2, 4, 5, 6 and 9, next to the models. */
export function statedPoints(device: ChipDevice, bars: readonly BandwidthBar[]): StatedPoint[] {
  const stage = stageCurve(device);
  const at = (n: number): number => stage.y[stage.x.indexOf(n)] as number;
  const bar = (system: BandwidthBar['system']): string => {
    const found = bars.find((one) => one.system === system);
    return found === undefined
      ? ''
      : `${(found.working / 1e9).toFixed(1)} GB/s working, ${(found.overall / 1e9).toFixed(1)} over all`;
  };
  const four = (tokens: number): string => `${graphCurvesAt(device, tokens).toFixed(0)} ms`;
  return [
    {
      figure: 'Fig. 2',
      what: 'GPU, large tensors',
      published: 'about 1 TFLOPS, level',
      model: `${(device.gpu.flops.F16 / 1e12).toFixed(2)} TFLOPS from n = ${gpuThreshold(device).toFixed(0)}`,
    },
    {
      figure: 'Fig. 2',
      what: 'GPU, small tensors',
      published: 'grows linearly (memory-bound)',
      model: `in proportion to n: ${(gpuCurve(device).y[7] as number).toFixed(2)} TFLOPS at n = 64`,
    },
    {
      figure: 'Fig. 4',
      what: 'sizes below 32',
      published: 'the same latency',
      model: `${at(1).toFixed(3)} µs at 1 and ${at(32).toFixed(3)} µs at 32; ${at(33).toFixed(3)} µs at 33`,
    },
    {
      figure: 'Fig. 5',
      what: '[14336, 4096] × [4096, K] over its reverse',
      published: '6 × (no K stated)',
      model: [32, 64, 128, 256, 1024].map((k) => `${orderGain(device, k).toFixed(1)} × at ${k}`).join(', '),
    },
    {
      figure: 'Fig. 5',
      what: 'NPU in the worst order',
      published: 'regresses to the level of the GPU',
      model: `${threeDigits(orderCurves(device)[2]?.y[1] as number)} TFLOPS at K = 64`,
    },
    { figure: 'Fig. 6', what: 'decoding on the GPU', published: '40 to 45 GB/s (43.3)', model: bar('gpu-only') },
    { figure: 'Fig. 6', what: 'decoding on the NPU', published: '40 to 45 GB/s', model: bar('npu-only') },
    { figure: 'Fig. 6', what: 'decoding on both', published: 'about 60 GB/s (59.1)', model: bar('hetero-tensor') },
    {
      figure: 'Fig. 9',
      what: 'four graphs of Llama-8B, 135 tokens',
      published: '408.4 ms (fitted to)',
      model: four(135),
    },
    {
      figure: 'Fig. 9',
      what: 'four graphs of Llama-8B, 1000 tokens',
      published: '2050 ms (fitted to)',
      model: four(1000),
    },
  ];
}

function graphCurvesAt(device: ChipDevice, tokens: number): number {
  return graphCurves(device, [tokens]).reduce((sum, { y }) => sum + (y[0] as number), 0);
}

/** The sentence above the first picture, and the lines below it. */
function topOf(
  device: ChipDevice,
  bars: readonly BandwidthBar[],
): { readonly headline: string; readonly findings: readonly string[] } {
  const stage = stageCurve(device);
  const at = (n: number): number => stage.y[stage.x.indexOf(n)] as number;
  const rate = (system: BandwidthBar['system']): number => bars.find((one) => one.system === system)?.working ?? 0;
  const alone = Math.max(rate('gpu-only'), rate('npu-only'));
  return {
    headline: `The GPU reaches its ${(device.gpu.flops.F16 / 1e12).toFixed(2)} TFLOPS only for square matrices of ${gpuThreshold(device).toFixed(0)} rows and more.`,
    findings: [
      `+${formatPercent(at(33) / at(32) - 1)} time on the NPU for [33, 64] × [64, 33] in place of [32, 64] × [64, 32].`,
      `${orderGain(device, 256).toFixed(1)} × the time on the NPU for the worse order of [14336, 4096] × [4096, 256].`,
      `${threeDigits(rate('hetero-tensor') / alone)} × the memory bandwidth in decoding with GPU and NPU together, compared with the better of them.`,
    ],
  };
}

export function stagesPage(
  device: ChipDevice,
  bars: readonly BandwidthBar[],
  points: readonly StatedPoint[],
  band: readonly BandRow[],
): NonNullable<Results['page']> {
  const block = (title: string, note: string, figure: Figure) => ({
    kind: 'chart' as const,
    title,
    note,
    variants: [{ label: title, figure }],
  });
  return {
    title: 'What a mobile chip’s processors do with tensors',
    ...topOf(device, bars),
    sections: [
      {
        title: 'Figures',
        blocks: [
          block(
            'Fig. 2: GPU performance against tensor size',
            'In proportion to the size while memory binds, then level.',
            lines([gpuCurve(device)], 'n', 'TFLOP/s', 'linear', 'lines'),
          ),
          block(
            'Fig. 4: stage performance of the NPU',
            'A step wherever a dimension needs one more tile.',
            lines([stageCurve(device)], 'n', 'time (µs)', 'linear', 'lines'),
          ),
          block(
            'Fig. 5: order and shape',
            'The same FLOPs in three ways. The right operand stands still in the array: what of it doesn’t stay on chip is fetched for every 32 rows that pass. The layout is that of the longest graph up to 1024 columns, so that K doesn’t matter below.',
            lines(orderCurves(device), 'K', 'TFLOP/s', 'log'),
          ),
          block(
            'Fig. 6: memory bandwidth in decoding',
            'Simulated on Llama-8B after 256 tokens, while a processor works; the memory itself has 68 GB/s.',
            barChart({
              categories: bars.map(({ name }) => name),
              categoryTitle: 'processors',
              value: { title: 'bandwidth (GB/s)' },
              arrange: 'group',
              series: [
                { name: 'working', colour: colour(0), values: bars.map(({ working }) => working / 1e9) },
                { name: 'over the whole token', colour: colour(5), values: bars.map(({ overall }) => overall / 1e9) },
              ],
            }),
          ),
          block(
            'Fig. 9: generating the graph of an operator',
            'Operators of Llama-8B; a prompt of a length that is not prepared needs all four.',
            lines(graphCurves(device), 'tokens', 'time (ms)', 'log'),
          ),
        ],
      },
      {
        title: 'Points that the text states',
        blocks: [tableBlock({ columns: STATED, rows: points, groups: true })],
      },
      {
        title: 'How much depends on constants that the paper doesn’t state',
        blocks: [
          {
            kind: 'text',
            text: 'For each value, the NPU’s rate is fitted again, so that the prompt of 256 tokens keeps its time. §1 gives the NPU up to 10 TFLOPS, which bounds the on-chip memory from below; Fig. 5 prints 6 × without K, and its curves have no digits; §5.2.1 prints 1092 tok/s for InternLM-1.8B.',
          },
          tableBlock({ columns: BAND, rows: band }),
        ],
      },
    ],
  };
}

function lines(
  curves: readonly Curve[],
  x: string,
  y: string,
  scale: 'linear' | 'log',
  mode: 'lines' | 'lines+markers' = 'lines+markers',
): Figure {
  return lineChart({
    x: { title: x, scale },
    y: { title: y },
    series: curves.map(({ name, ...points }, index) => ({ name, ...points, colour: colour(index), mode })),
  });
}
