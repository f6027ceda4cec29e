import { formatSeconds } from '../../engine/input/format.ts';
import { formatTable } from '../../engine/terminal/table.ts';
import type { SceneResult, Step } from './steps.ts';

/** Shares above and below which a layer counts as wholly in memory, and as absent. */
const WHOLE = 0.99;
const NOTHING = 0.01;

/** `█` in memory, `▒` partly in memory, `·` not in memory. */
export function cellOf(share: number): string {
  if (share > WHOLE) return '█';
  return share < NOTHING ? '·' : '▒';
}

export function stepLabel({ event, layer, waited }: Step): string {
  switch (event) {
    case 'begin':
      return `layer ${layer} done`;
    case 'prefetched':
      return `layer ${layer} prefetched`;
    case 'computes':
      return waited ? `layer ${layer} waited for` : `layer ${layer} computed`;
  }
}

/** The steps as text: a row per step, a cell per layer. */
export function sceneText({ steps, loads }: SceneResult): string {
  const layers = [...loads.keys()];
  const rows = steps.map((step) => [
    formatSeconds(step.time),
    stepLabel(step),
    ...layers.map((layer) => cellOf(step.residency.get(layer) ?? 0)),
  ]);
  const total = ['', 'loads per token', ...layers.map((layer) => String(Math.round(loads.get(layer) ?? 0)))];
  return formatTable(
    [{ title: 'time', align: 'right' }, { title: 'step' }, ...layers.map((layer) => ({ title: String(layer) }))],
    [...rows, total],
  );
}
