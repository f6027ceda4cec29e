import { type SecondsRange, tokenFigures } from '../../engine/trace/token-figures.ts';
import { secondsRange } from '../../simulator/memory-range.ts';
import { type AnswersCase, simulateCell } from './answers.ts';
import { planOf, shareBytes } from './cell.ts';

/** The range of a cell's simulated TPOT (secondsRange), with its plan as it is. */
export function simulatedRange(parts: AnswersCase): SecondsRange {
  const { cell, devices, model } = parts;
  const plan = planOf(cell, devices, model);
  const own =
    parts.room ?? devices.map((name, index) => (cell.memoryShares[index] as number) * shareBytes(plan, model, name));
  return secondsRange((share) => {
    const room = own.map((bytes) => share * bytes);
    return tokenFigures(simulateCell({ ...parts, room }, plan)).seconds;
  });
}
