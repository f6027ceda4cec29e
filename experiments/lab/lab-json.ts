import type { CellResult } from './run-cell.ts';
import type { LabSession } from './session.ts';

/** Results without their traces, with what they rest on: SI units. */
export function labJson(
  { model, facts }: Pick<LabSession, 'model' | 'facts'>,
  results: readonly CellResult[],
  settings: Readonly<Record<string, unknown>>,
): string {
  const cells = results.map(({ traces: _, ...rest }) => rest);
  const probes = { ...facts, model: model.name, modelBytes: model.bytes };
  return `${JSON.stringify({ settings, probes, cells }, undefined, 2)}\n`;
}
