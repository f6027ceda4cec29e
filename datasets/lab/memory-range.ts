import { tokenFigures } from '../../engine/trace/token-figures.ts';
import { type AnswersCase, simulateCell } from './answers.ts';
import { planOf, shareBytes } from './cell.ts';

/** Shares of a device's memory with which a range is simulated. Assumed: nobody measured by how much it differs from run to run. */
const MEMORY_SHARES = [0.99, 0.995, 1, 1.005, 1.01];

/** TPOT, seconds. */
export interface SecondsRange {
  readonly least: number;
  readonly most: number;
}

/**
 * The least and the most that a token takes in simulations in which all devices have up to 1 % less or more memory for
 * weights. Where Linux comes to rest at one of several shares of the weights, so little decides at which: one figure says
 * too much there, and elsewhere both ends are nearly the same.
 */
export function simulatedRange(parts: AnswersCase): SecondsRange {
  const { cell, devices, model } = parts;
  const plan = planOf(cell, devices, model);
  const own =
    parts.room ?? devices.map((name, index) => (cell.memoryShares[index] as number) * shareBytes(plan, model, name));
  const seconds = MEMORY_SHARES.map((share) => {
    const room = own.map((bytes) => share * bytes);
    return tokenFigures(simulateCell({ ...parts, room }, plan)).seconds;
  });
  return { least: Math.min(...seconds), most: Math.max(...seconds) };
}
