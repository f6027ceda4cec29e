import type { CellAnswers } from './cell.ts';

/** Cells with their samples, for scripts; of a model its name, mix and bytes. */
export function measureJson(settings: Readonly<Record<string, unknown>>, cells: readonly CellAnswers[]): string {
  const plain = cells.map(({ model, ...rest }) => ({ model: model.name, mix: model.mix, bytes: model.bytes, ...rest }));
  return `${JSON.stringify({ settings, cells: plain }, undefined, 2)}\n`;
}
