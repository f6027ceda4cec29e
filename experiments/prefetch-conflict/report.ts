import type { Data } from 'plotly.js-dist-min';
import { enumerate, formatBytes, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { type Figure, layoutOf } from '../report/charts/chart.ts';
import { PALETTE } from '../report/charts/colours.ts';
import type { Column, Table } from '../report/columns.ts';
import type { ChartBlock, Page, Section } from '../report/page/page.ts';
import { residencyGrid } from './residency.ts';
import type { SceneAnswer, SceneResult } from './run-scene.ts';

/** The paper's statement about each figure (prima.cpp A.1 and A.2). */
const PAPER: Readonly<Record<SceneResult['scene']['figure'], string>> = {
  3: 'prima.cpp’s Fig. 3: with one round, prefetching goes on when memory is full; what it reads last evicts what it read first, which is missing when it is needed, and everything is loaded twice.',
  4: 'prima.cpp’s Fig. 4: a window that fits is in memory before it is needed, and is replaced by the next one afterwards.',
  5: 'prima.cpp’s Fig. 5: the same with a slow disk: a part of the window is in memory when it is needed, and the device waits for the rest.',
};

interface SceneRow {
  readonly scene: SceneResult['scene'];
  readonly name: 'measured' | 'simulated';
  readonly answer: SceneAnswer;
}

const COLUMNS: readonly Column<SceneRow>[] = [
  { title: 'figure', value: ({ scene }) => `${scene.figure}: ${scene.title}` },
  { title: 'answer', value: ({ name }) => name },
  { title: 'TPOT', value: ({ answer }) => answer.figures.seconds, unit: 'seconds' },
  { title: 'read', value: ({ answer }) => answer.figures.bytes, unit: 'bytes' },
  { title: 'stall', value: ({ answer }) => answer.figures.stall, unit: 'seconds' },
  { title: 'loads of a layer', value: ({ answer }) => answer.loads, unit: 'factor' },
];

/** Both answers for each figure. */
export function sceneTable(results: readonly SceneResult[]): Table<SceneRow> {
  const rows = results.flatMap(({ scene, measured, simulated }): SceneRow[] => [
    { scene, name: 'measured', answer: measured },
    { scene, name: 'simulated', answer: simulated },
  ]);
  return { columns: COLUMNS, rows };
}

/** How often a layer is loaded for one token, in a sentence. */
export function findings(results: readonly SceneResult[]): string[] {
  const parts = results.map(({ scene, measured, simulated }) => {
    const [real, found] = [measured, simulated].map((answer) => threeDigits(answer.loads));
    return `${real} times in Fig. ${scene.figure} (simulated ${found})`;
  });
  return [`How often a layer is loaded into memory for one token, measured by mincore on Linux: ${enumerate(parts)}.`];
}

export function prefetchConflictPage(results: readonly SceneResult[]): Pick<Page, 'title' | 'sections'> {
  return { title: 'Prefetch, release, load again: measured', sections: results.map(sectionOf) };
}

function sectionOf({ scene, measured, simulated }: SceneResult): Section {
  return {
    title: `Fig. ${scene.figure}: ${scene.title}`,
    blocks: [{ kind: 'text', text: PAPER[scene.figure] }, chart('Measured', measured), chart('Simulated', simulated)],
  };
}

function chart(label: string, answer: SceneAnswer): ChartBlock {
  const { seconds, bytes, stall } = answer.figures;
  const note = `A token takes ${formatSeconds(seconds)}; all devices read ${formatBytes(bytes)} for it, and wait ${formatSeconds(stall)} for disks. Each layer of this device is loaded ${threeDigits(answer.loads)} times.`;
  const title = `${label}: the second device’s layers in memory, over ${answer.tokens} tokens`;
  return { kind: 'chart', title, note, variants: [{ label, figure: residencyFigure(answer) }] };
}

const TIME_STEPS = 240;
const HEIGHT = 300;

/** A heat map of residency over the counted tokens: a row per layer, the first at the top; the greener, the more is in memory. */
function residencyFigure({ seen, from, to }: SceneAnswer): Figure {
  const { times, rows } = residencyGrid(seen, { from, to, columns: TIME_STEPS });
  const layout = layoutOf({ x: { title: 'seconds' }, y: { title: '' }, height: HEIGHT }, [0, to - from], []);
  const data: Data = {
    type: 'heatmap',
    x: times,
    y: rows.map((_, index) => `layer ${index + 1}`),
    z: rows.map((row) => row.map((share) => (share === null ? null : 100 * share))),
    zmin: 0,
    zmax: 100,
    colorscale: [
      [0, '#ffffff'],
      [1, PALETTE[2]],
    ],
    colorbar: { title: { text: 'in memory (%)', side: 'right' }, thickness: 12, len: 0.85 },
    ygap: 2,
    hovertemplate: '%{y}: %{z:.0f} % in memory at %{x:.2f} s<extra></extra>',
  };
  return {
    data: [data],
    layout: {
      ...layout,
      yaxis: { autorange: 'reversed', ticks: '', showgrid: false, fixedrange: true, automargin: true },
    },
  };
}
