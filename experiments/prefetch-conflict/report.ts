import { enumerate, formatBytes, formatSeconds, threeDigits } from '../../engine/terminal/format.ts';
import type { Report, Section } from '../lib/report.ts';
import { residencyFigure } from './figure.ts';
import type { SceneAnswer, SceneResult } from './run-scene.ts';

/** What the paper says of the figure, A.1 and A.2. */
const SAYS: Readonly<Record<SceneResult['scene']['figure'], string>> = {
  3: 'prima.cpp’s Fig. 3: with one round, prefetching does not stop where memory ends; what it reads last pushes out what it has read first, which is missing when its turn comes, and everything is loaded twice.',
  4: 'prima.cpp’s Fig. 4: a window that fits is there before its turn, and is replaced by the next after it.',
  5: 'prima.cpp’s Fig. 5: the same with a slow disk: a part of the window is there when its turn comes, and the rest is waited for.',
};

export function findings(results: readonly SceneResult[]): string {
  const parts = results.map(({ scene, measured, simulated }) => {
    const [real, found] = [measured, simulated].map((answer) => threeDigits(answer.loads));
    return `${real} times in Fig. ${scene.figure} (simulated ${found})`;
  });
  return `How often a layer comes into memory for one token, measured by mincore on a real kernel: ${enumerate(parts)}.`;
}

export function prefetchConflictReport(results: readonly SceneResult[], subtitle: string): Report {
  return {
    title: 'Prefetch, release, load again: measured',
    subtitle,
    summary: findings(results),
    sections: results.map(sectionOf),
  };
}

function sectionOf({ scene, measured, simulated }: SceneResult): Section {
  return {
    title: `Fig. ${scene.figure}: ${scene.title}`,
    blocks: [{ kind: 'text', text: SAYS[scene.figure] }, chart('Measured', measured), chart('Simulated', simulated)],
  };
}

function chart(label: string, answer: SceneAnswer): Section['blocks'][number] {
  const { seconds, bytes, stall } = answer.figures;
  const note = `A token takes ${formatSeconds(seconds)}; all devices read ${formatBytes(bytes)} for it, and wait ${formatSeconds(stall)} for disks. Each layer of this device comes into memory ${threeDigits(answer.loads)} times.`;
  const title = `${label}: the second device’s layers in memory, over ${answer.tokens} tokens`;
  return { kind: 'chart', title, note, variants: [{ label, figure: residencyFigure(answer) }] };
}
