import type { Annotation } from 'plotly.js-dist-min';
import { formatSeconds } from '../../engine/input/format.ts';
import type { SplitCandidate } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { type BarSeries, barChart, type Figure } from '../report/charts/chart.ts';
import { colour, INK } from '../report/charts/colours.ts';
import type { Configuration } from './configurations.ts';

/** Length of the longest bar, in columns. */
const BAR = 66;

/** The search of one configuration, as HELM Fig. 4.4: a bar per k, the CPU's time solid, the GPU's light. */
export function curveText({ machine, label, curve, chosen }: Configuration): string {
  const longest = Math.max(...curve.map(({ tokenSeconds }) => tokenSeconds));
  const cells = (seconds: number): number => Math.round((BAR * seconds) / longest);
  const lines = curve.map((candidate) => {
    const total = cells(candidate.tokenSeconds);
    const cpu = Math.min(total, cells(candidate.cpuSeconds));
    const bar = `${'█'.repeat(cpu)}${'░'.repeat(total - cpu)}`.padEnd(BAR);
    const time = `${(1000 * candidate.tokenSeconds).toFixed(1)} ms`.padStart(9);
    return `${String(candidate.cpuUnits).padStart(3)}  ${bar}  ${time}  ${candidateRemark(candidate, chosen?.split)}`;
  });
  const title = `${label} on ${machine}: T_plan by k, the units on the CPU (█ CPU, ░ GPU)`;
  return `${title}\n${lines.map((line) => `${line.trimEnd()}\n`).join('')}`;
}

/** `k*`, or the memory that is too small. */
export function candidateRemark(candidate: SplitCandidate, best: SplitCandidate | undefined): string {
  if (candidate === best) return `◄ k* = ${candidate.cpuUnits}`;
  const needs = candidate.lacks.map((memory) => {
    const bytes = memory === 'vram' ? candidate.gpuBytes : candidate.ramBytes;
    return `${memory.toUpperCase()} ${(bytes / 1e9).toFixed(2)} GB`;
  });
  return needs.length === 0 ? '' : `✗ ${needs.join(', ')}`;
}

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
      part('CPU', colour(0), ({ cpuSeconds }) => cpuSeconds),
      part('GPU', colour(1), ({ gpuSeconds }) => gpuSeconds),
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
