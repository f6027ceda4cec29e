import type { Progress } from '../../engine/terminal/progress.ts';
import { cellName, type LabCell } from './cell.ts';
import { logStep } from './log-step.ts';
import { type CellResult, runCell } from './run-cell.ts';
import type { LabSession } from './session.ts';

/** Runs cells, those with the same layers on the same devices one after another, and returns them in the given order. */
export async function runCells(
  session: LabSession,
  cells: readonly LabCell[],
  tokens: number,
  progress: Progress,
): Promise<CellResult[]> {
  const layout = ({ rounds, windows }: LabCell): string => `${rounds}: ${windows.join(' ')}`;
  const layouts = [...new Set(cells.map(layout))];
  const ordered = cells.toSorted((a, b) => layouts.indexOf(layout(a)) - layouts.indexOf(layout(b)));
  const results = new Map<LabCell, CellResult>();
  for (const [index, cell] of ordered.entries()) {
    logStep(`${index + 1} of ${ordered.length}: ${cellName(cell)}`);
    progress.step(cellName(cell));
    results.set(cell, await runCell(session, cell, tokens));
  }
  return cells.map((cell) => results.get(cell) as CellResult);
}
