import type { Trace } from '../../engine/trace/trace.ts';
import { answersOf, type LabAnswers } from './answers.ts';
import type { LabCell } from './cell.ts';
import type { GroupReadings } from './cgroups/readings.ts';
import { runInLab } from './ring.ts';
import { type LabSession, namesOf } from './session.ts';
import { shareBytes } from './share-bytes.ts';
import { type TokenFigures, tokenFigures } from './token-figures.ts';

/** The three answers for a cell, and how the lab kept to its limits. */
export interface CellResult extends Pick<LabAnswers, 'predicted' | 'simulated'> {
  readonly cell: LabCell;
  readonly measured: TokenFigures;
  readonly traces: { readonly measured: Trace; readonly simulated: Trace };
  readonly devices: readonly DeviceCheck[];
  /** What each device's throttle lets through, as probed, bytes per second. */
  readonly diskRates: readonly number[];
}

/** What a device was allowed to take, and took. */
export interface DeviceCheck extends GroupReadings {
  readonly device: string;
  readonly limitBytes: number;
}

/**
 * Runs a cell for real, and predicts and simulates it.
 * @param tokens the prompt's and those that are decoded; at least LEAST_TOKENS
 * @throws Error where a device was killed for lack of memory
 */
export async function runCell(session: LabSession, cell: LabCell, tokens: number): Promise<CellResult> {
  const { lab, model, file, facts } = session;
  const devices = namesOf(lab);
  const diskRates = cell.diskRates.map(session.diskRate);
  const { plan, predicted, simulated, trace } = answersOf({ facts, model, devices, cell, diskRates, tokens });
  const limits = devices.map((device, index) => ({
    memory: (cell.memoryShares[index] as number) * shareBytes(plan, model, device) + (facts.ownBytes[index] as number),
    diskRate: cell.diskRates[index] as number,
    cores: lab.cluster.devices[index]?.cpu.cores ?? 1,
  }));
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
