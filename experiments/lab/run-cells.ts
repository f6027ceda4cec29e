import type { Trace } from '../../engine/trace/trace.ts';
import { answersOf, type LabAnswers } from './answers.ts';
import { cellLimits, cellName, type LabCell } from './cell.ts';
import type { GroupReadings } from './cgroups/readings.ts';
import { runInLab } from './ring.ts';
import { type LabSession, logStep } from './session.ts';
import { type TokenFigures, tokenFigures } from './token-figures.ts';

/** The three answers for a cell, and the readings that show whether the lab kept to its limits. */
export interface CellResult extends Pick<LabAnswers, 'predicted' | 'simulated'> {
  readonly cell: LabCell;
  readonly measured: TokenFigures;
  readonly traces: { readonly measured: Trace; readonly simulated: Trace };
  readonly devices: readonly DeviceCheck[];
  /** Probed rate that each device's throttle lets through, bytes per second. */
  readonly diskRates: readonly number[];
}

/** A device's memory limit, and what it used. */
export interface DeviceCheck extends GroupReadings {
  readonly device: string;
  readonly limitBytes: number;
}

/**
 * Runs cells on the lab, those with the same layers on the same devices one after another, since these share the parts
 * of the model.
 * @param tokens of each run: one of the prompt and the decoded ones; at least LEAST_TOKENS
 * @param onCell called before each run
 * @returns results in the order of `cells`
 * @throws Error if a device was killed for lack of memory
 */
export async function runCells(
  session: LabSession,
  cells: readonly LabCell[],
  tokens: number,
  onCell: (name: string) => void,
): Promise<CellResult[]> {
  const layout = ({ rounds, windows }: LabCell): string => `${rounds}: ${windows.join(' ')}`;
  const layouts = [...new Set(cells.map(layout))];
  const ordered = cells.toSorted((a, b) => layouts.indexOf(layout(a)) - layouts.indexOf(layout(b)));
  const results = new Map<LabCell, CellResult>();
  for (const [index, cell] of ordered.entries()) {
    logStep(`${index + 1} of ${ordered.length}: ${cellName(cell)}`);
    onCell(cellName(cell));
    results.set(cell, await runCell(session, cell, tokens));
  }
  return cells.map((cell) => results.get(cell) as CellResult);
}

/** Predicts, simulates and measures one cell. */
async function runCell(session: LabSession, cell: LabCell, tokens: number): Promise<CellResult> {
  const { lab, model, file, facts } = session;
  const { devices } = lab;
  const diskRates = cell.diskRates.map(session.diskRate);
  const { plan, predicted, simulated, trace } = answersOf({ facts, model, devices, cell, diskRates, tokens });
  const limits = cellLimits(lab, { cell, model, plan, ownBytes: facts.ownBytes });
  const run = await runInLab(lab, { model: file, plan, tokens, limits });
  const checks = devices.map((device, index): DeviceCheck => {
    const readings = run.devices[index] as GroupReadings;
    return { device, limitBytes: limits[index]?.memory ?? 0, ...readings };
  });
  const killed = checks.find(({ kills }) => kills > 0);
  if (killed !== undefined) throw new Error(`${killed.device} was killed: ${killed.limitBytes} bytes are too few`);
  return {
    cell,
    predicted,
    simulated,
    measured: tokenFigures(run.trace),
    traces: { measured: run.trace, simulated: trace },
    devices: checks,
    diskRates,
  };
}
