import { type AnswersCase, answersOf, type LabAnswers } from '../../datasets/lab/answers.ts';
import { cellName, type LabCell, planOf, shareBytes } from '../../datasets/lab/cell.ts';
import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import type { Model } from '../../engine/model/model.ts';
import { type FittedPolicy, NO_WEIGHTS_POLICY, pinnedBytesOf } from '../../engine/plan/weights-policy.ts';
import { type SecondsRange, type TokenFigures, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { cellLimits } from './cell-limits.ts';
import type { CellRun, DeviceCheck } from './cell-run.ts';
import type { GroupReadings } from './cgroups/readings.ts';
import { runInLab } from './ring.ts';
import type { SavedCells } from './saved-cells.ts';
import { type LabSession, logStep } from './session.ts';

/** The answers for a cell, predicted in two ways. */
export interface ComparedCell extends Pick<LabAnswers, 'predicted' | 'overlapped' | 'simulated'> {
  readonly cell: LabCell;
  readonly measured: TokenFigures;
  /** TPOT simulated with up to 1 % less and more memory, where it was asked for. */
  readonly range?: SecondsRange;
}

/** The answers for a cell, and the readings that show whether the lab kept to its limits. */
export interface CellResult extends ComparedCell {
  readonly traces: { readonly measured: Trace; readonly simulated: Trace };
  readonly devices: readonly DeviceCheck[];
  /** Probed rate that each device's throttle lets through, bytes per second. */
  readonly diskRates: readonly number[];
}

/**
 * Runs cells on the lab, those with the same layers on the same devices one after another, since these share the parts
 * of the model.
 * @param tokens of each run: one of the prompt and the decoded ones; at least LEAST_TOKENS
 * @param saved every run is saved there
 * @param onCell called before each run
 * @returns runs in the order of `cells`
 * @throws Error if a device was killed for lack of memory
 */
export async function runCells(
  session: LabSession,
  cells: readonly LabCell[],
  { tokens, saved, onCell }: RunOptions,
): Promise<CellRun[]> {
  const layout = ({ rounds, windows }: LabCell): string => `${rounds}: ${windows.join(' ')}`;
  const layouts = [...new Set(cells.map(layout))];
  const ordered = cells.toSorted((a, b) => layouts.indexOf(layout(a)) - layouts.indexOf(layout(b)));
  const runs = new Map<LabCell, CellRun>();
  for (const [index, cell] of ordered.entries()) {
    logStep(`${index + 1} of ${ordered.length}: ${cellName(cell)}`);
    onCell(cellName(cell));
    const run = await runCell(session, cell, tokens);
    saved.save(run);
    runs.set(cell, run);
  }
  return cells.map((cell) => runs.get(cell) as CellRun);
}

export interface RunOptions {
  readonly tokens: number;
  readonly saved: SavedCells;
  readonly onCell: (name: string) => void;
}

/** Measures one cell. */
async function runCell(session: LabSession, cell: LabCell, tokens: number): Promise<CellRun> {
  const { lab, model, file, facts, profile } = session;
  const { devices } = lab;
  const diskRates = cell.diskRates.map(session.diskRate);
  const plan = planOf(cell, devices, model);
  const limits = cellLimits(lab, { cell, model, plan, ownBytes: facts.ownBytes });
  const run = await runInLab(lab, { model: file, plan, tokens, limits });
  const checks = devices.map((device, index): DeviceCheck => {
    const readings = run.devices[index] as GroupReadings;
    return { device, limitBytes: limits[index]?.memory ?? 0, ...readings };
  });
  const killed = checks.find(({ kills }) => kills > 0);
  if (killed !== undefined) throw new Error(`${killed.device} was killed: ${killed.limitBytes} bytes are too few`);
  const room = run.ownBytes?.map((bytes, index) => {
    const pages = PAGE_TABLES * shareBytes(plan, model, devices[index] as string);
    return (limits[index]?.memory ?? 0) - (bytes - pages);
  });
  const pinned = devices.map((device) => pinnedBytesOf((plan.weights[device] ?? NO_WEIGHTS_POLICY) as FittedPolicy));
  return { cell, facts, profile, diskRates, room, pinned, trace: run.trace, devices: checks };
}

/** Inputs of the prediction and the simulation of a cell that was measured. */
export function caseOfRun(
  { cell, facts, diskRates, room, pinned, devices }: CellRun,
  model: Model,
  tokens: number,
): AnswersCase {
  return { facts, model, devices: devices.map(({ device }) => device), cell, diskRates, room, pinned, tokens };
}

/** The three answers for a cell that was measured: it is predicted and simulated from the facts of its run. */
export function resultOfRun(run: CellRun, model: Model, tokens: number): CellResult {
  const { cell, diskRates, devices } = run;
  const { predicted, overlapped, simulated, trace } = answersOf(caseOfRun(run, model, tokens));
  const measured = tokenFigures(run.trace);
  return {
    cell,
    predicted,
    overlapped,
    simulated,
    measured,
    traces: { measured: run.trace, simulated: trace },
    devices,
    diskRates,
  };
}
