import type { Annotation } from 'plotly.js-dist-min';
import type { SplitCandidate } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { formatSeconds } from '../../engine/terminal/format.ts';
import { type BarSeries, barChart, colour, type Figure, INK, type LineSeries, lineChart } from '../lib/chart.ts';
import { type Configuration, splitText } from './configurations.ts';
import { candidateRemark } from './terminal.ts';

const CPU_COLOUR = colour(0);
const GPU_COLOUR = colour(1);

/** T_plan by k, in the parts of Eq. 4.7; hatched where memory is lacking (HELM Fig. 4.4). */
export function curveChart({ curve, chosen }: Configuration): Figure {
  const hover = curve.map((candidate) => candidateHover(candidate, chosen?.split));
  const series = ([true, false] as const).flatMap((feasible): BarSeries[] => {
    const suffix = feasible ? '' : ', does not fit';
    const part = (name: string, ink: string, seconds: (candidate: SplitCandidate) => number): BarSeries => ({
      name: `${name}${suffix}`,
      colour: ink,
      values: curve.map((candidate) => (candidate.feasible === feasible ? 1000 * seconds(candidate) : null)),
      hatched: !feasible,
      hover,
    });
    if (!curve.some((candidate) => candidate.feasible === feasible)) return [];
    return [
      part('CPU', CPU_COLOUR, ({ cpuSeconds }) => cpuSeconds),
      part('GPU', GPU_COLOUR, ({ gpuSeconds }) => gpuSeconds),
    ];
  });
  const figure = barChart({
    categories: curve.map(({ cpuUnits }) => String(cpuUnits)),
    categoryTitle: 'k: partition units on the CPU, embedding first',
    value: { title: 'T_plan (ms)' },
    series,
    arrange: 'stack',
    height: 440,
  });
  return {
    ...figure,
    layout: { ...figure.layout, annotations: chosen === undefined ? [] : [bestLabel(chosen.split)] },
  };
}

/** Points at the best bar from the upper left, where bars are lower; at the first bar from the upper right. */
function bestLabel({ cpuUnits, tokenSeconds }: SplitCandidate): Partial<Annotation> {
  const toTheSide = cpuUnits < 3 ? 40 : -40;
  return {
    text: `k* = ${cpuUnits}`,
    x: String(cpuUnits),
    y: 1000 * tokenSeconds,
    showarrow: true,
    arrowhead: 2,
    arrowwidth: 1.5,
    arrowcolor: INK,
    ax: toTheSide,
    ay: -50,
    font: { size: 14, color: INK },
  };
}

function candidateHover(candidate: SplitCandidate, best: SplitCandidate | undefined): string {
  const { cpuSeconds, gpuSeconds, copySeconds, tokenSeconds, gpuBytes, ramBytes } = candidate;
  return [
    `cpu(${candidate.cpuUnits})→gpu(${candidate.gpuUnits}): ${formatSeconds(tokenSeconds)}`,
    `CPU ${formatSeconds(cpuSeconds)}, GPU ${formatSeconds(gpuSeconds)}, PCIe ${(1e6 * copySeconds).toFixed(1)} µs`,
    `VRAM ${(gpuBytes / 1e9).toFixed(2)} GB, RAM ${(ramBytes / 1e9).toFixed(2)} GB`,
    candidateRemark(candidate, best),
  ]
    .filter((line) => line !== '')
    .join('<br>');
}

/** Predictions beside what the thesis predicts and measures, on a log axis. */
export function latencyChart(configurations: readonly Configuration[]): Figure {
  const shown = configurations.filter(({ chosen, published }) => chosen ?? published.latencies[0]);
  const labels = shown.map(({ machine, label }) => `${label}<br>${machine}`);
  const series = (
    name: string,
    look: Pick<LineSeries, 'colour' | 'symbol' | 'symbolSize'>,
    seconds: (one: Configuration) => number | undefined,
  ): LineSeries => ({
    name,
    x: labels,
    y: shown.map((one) => {
      const value = seconds(one);
      return value === undefined ? null : 1000 * value;
    }),
    mode: 'markers',
    ...look,
    hover: shown.map((one) => {
      const value = seconds(one);
      return value === undefined ? '' : `${formatSeconds(value)}, split ${splitText(one.chosen?.split)}`;
    }),
  });
  const published = (table: string) => (one: Configuration) =>
    one.published.latencies.find((latency) => latency.table === table)?.seconds;
  const figure = lineChart({
    x: { title: 'model and machine', categories: labels },
    y: { title: 'time per token (ms, log scale)', scale: 'log' },
    series: [
      series(
        'T_plan',
        { colour: CPU_COLOUR, symbol: 'circle-open', symbolSize: 11 },
        ({ chosen }) => chosen?.split.tokenSeconds,
      ),
      series(
        'T_plan + N δ̄',
        { colour: CPU_COLOUR, symbol: 'circle', symbolSize: 11 },
        ({ chosen }) => chosen?.correctedSeconds,
      ),
      series(
        'thesis predicts (Table 6.5)',
        { colour: colour(7), symbol: 'square-open', symbolSize: 11 },
        (one) => one.published.predictedSeconds,
      ),
      series(
        'thesis measures (Table 6.5)',
        { colour: GPU_COLOUR, symbol: 'diamond', symbolSize: 11 },
        published('Table 6.5'),
      ),
      series('thesis measures (Table 6.1)', { colour: INK, symbol: 'x', symbolSize: 9 }, published('Table 6.1')),
    ],
    height: 480,
  });
  // Two short lines per label fit upright at this size; left alone, Plotly turns them.
  const xaxis = { ...figure.layout.xaxis, tickangle: 0, tickfont: { size: 11 } };
  return { ...figure, layout: { ...figure.layout, xaxis } };
}
