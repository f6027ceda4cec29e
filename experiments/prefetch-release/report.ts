import { enumerate } from '../../engine/terminal/format.ts';
import type { Report, Section } from '../lib/report.ts';
import { blocksFigure } from './figure.ts';
import type { SceneResult } from './steps.ts';

/** What the paper says of the figure, A.1 and A.2. */
const SAYS: Readonly<Record<SceneResult['scene']['figure'], string>> = {
  3: 'The paper: prefetching does not stop where memory ends, so that the 4th layer pushes out the 1st, and in the end the last three layers are in memory; then the 1st is missing when its turn comes, and everything is loaded twice.',
  4: 'The paper: two layers are there before their computation begins, so that it runs without page faults; then the next two replace them.',
  5: 'The paper: only one layer is there when computation begins, which blocks at the next one until it is loaded; then the next round is prefetched, and the oldest layer released.',
};

export function prefetchReleaseReport(results: readonly SceneResult[], subtitle: string): Report {
  const loads = results.map(({ scene, loads }) => `${loadsText([...loads.values()])} in Fig. ${scene.figure}`);
  return {
    title: 'Prefetch, release, load again',
    subtitle,
    summary: `What is in a device’s memory, step by step, simulated: prima.cpp’s Figs. 3, 4 and 5. With one round, prefetching releases what it has just read; with windows that fit, it does not. For one token each layer is loaded ${enumerate(loads)}.`,
    sections: results.map(sectionOf),
  };
}

function sectionOf(result: SceneResult): Section {
  const { scene, steps } = result;
  const computed = steps.filter(({ event }) => event === 'computes');
  const waited = computed.filter(({ waited }) => waited).length;
  return {
    title: `Fig. ${scene.figure}: ${scene.title}`,
    blocks: [
      { kind: 'text', text: SAYS[scene.figure] },
      {
        kind: 'chart',
        title: `One token in steady state, from the top down; memory for ${scene.room} layers`,
        note: `Here ${waited} of ${computed.length} computations wait for the disk, and each layer is loaded ${loadsText([...result.loads.values()])}.`,
        variants: [{ label: scene.title, figure: blocksFigure(result) }],
      },
    ],
  };
}

/** `once`, `twice`, or `0 to 2 times`. */
function loadsText(loads: readonly number[]): string {
  const rounded = loads.map((value) => Math.round(value * 10) / 10);
  const [least, most] = [Math.min(...rounded), Math.max(...rounded)];
  if (least !== most) return `${least} to ${most} times`;
  if (least === 0) return 'never';
  return least === 1 ? 'once' : least === 2 ? 'twice' : `${least} times`;
}
