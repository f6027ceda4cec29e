import { type SecondsRange, tokenFigures } from '../../engine/trace/token-figures.ts';
import { secondsRange } from '../../simulator/memory-range.ts';
import { type AnswersCase, planOfCase, simulateCell } from './answers.ts';
import { shareBytes } from './cell.ts';

/** The range of a cell's simulated TPOT (secondsRange), with its plan as it is. */
export function simulatedRange(parts: AnswersCase): SecondsRange {
  const { cell, devices, model } = parts;
  const plan = planOfCase(parts);
  const own =
    parts.room ?? devices.map((name, index) => (cell.memoryShares[index] as number) * shareBytes(plan, model, name));
  return secondsRange((share) => {
    const room = own.map((bytes) => share * bytes);
    return tokenFigures(simulateCell({ ...parts, room }, plan)).seconds;
  });
}
