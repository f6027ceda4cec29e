import { enumerate } from '../../engine/input/format.ts';
import type { Column } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Section } from '../report/page/page.ts';
import { blocksFigure } from './figure.ts';
import type { SceneResult, Step } from './steps.ts';

/** A layer's share in memory after a step. */
interface StepRow extends Omit<Step, 'residency' | 'layer'> {
  readonly figure: number;
  /** The layer that the step is about. */
  readonly subject: number;
  readonly layer: number;
  readonly share: number;
}

export const STEPS: readonly Column<StepRow>[] = [
  { key: 'figure', value: ({ figure }) => figure },
  { key: 'time_s', value: ({ time }) => time },
  { key: 'event', value: ({ event }) => event },
  { key: 'event_layer', value: ({ subject }) => subject },
  { key: 'waited', value: ({ waited }) => waited },
  { key: 'layer', value: ({ layer }) => layer },
  { key: 'share_in_memory', value: ({ share }) => share },
];

export function stepRows({ scene, steps }: SceneResult): StepRow[] {
  return steps.flatMap(({ time, event, layer: subject, waited, residency }) =>
    [...residency].map(([layer, share]) => ({ figure: scene.figure, time, event, subject, waited, layer, share })),
  );
}

/** The paper's statement about each figure (A.1 and A.2). */
const SAYS: Readonly<Record<SceneResult['scene']['figure'], string>> = {
  3: 'The paper: prefetching does not stop where memory ends, so that the 4th layer pushes out the 1st, and in the end the last three layers are in memory; then the 1st is missing when its turn comes, and everything is loaded twice.',
  4: 'The paper: two layers are there before their computation begins, so that it runs without page faults; then the next two replace them.',
  5: 'The paper: only one layer is there when computation begins, which blocks at the next one until it is loaded; then the next round is prefetched, and the oldest layer released.',
};

function loadsSentence(results: readonly SceneResult[]): string {
  const loads = results.map((result) => `${loadsText([...result.loads.values()])} in Fig. ${result.scene.figure}`);
  return `For one token, each layer is loaded ${enumerate(loads)}.`;
}

export function summaryOf(results: readonly SceneResult[]): string {
  return `${loadsSentence(results)} The figures are prima.cpp’s Figs. 3, 4 and 5, simulated step by step.`;
}

export function prefetchReleasePage(results: readonly SceneResult[]): NonNullable<Results['page']> {
  return {
    title: 'Prefetch, release, load again',
    headline: loadsSentence(results),
    findings: results.map((result) => {
      const { waited, computed } = waitsOf(result);
      return `${waited} of ${computed} computations wait for the disk in Fig. ${result.scene.figure}: ${result.scene.title}.`;
    }),
    sections: results.map(sectionOf),
  };
}

/** Computations of one token, and those that wait for the disk. */
function waitsOf({ steps }: SceneResult): { readonly waited: number; readonly computed: number } {
  const computed = steps.filter(({ event }) => event === 'computes');
  return { waited: computed.filter(({ waited }) => waited).length, computed: computed.length };
}

function sectionOf(result: SceneResult): Section {
  const { scene } = result;
  const { waited, computed } = waitsOf(result);
  return {
    title: `Fig. ${scene.figure}: ${scene.title}`,
    blocks: [
      { kind: 'text', text: SAYS[scene.figure] },
      {
        kind: 'chart',
        title: `One token in steady state, from the top down; memory for ${scene.room} layers`,
        note: `Here ${waited} of ${computed} computations wait for the disk, and each layer is loaded ${loadsText([...result.loads.values()])}.`,
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
