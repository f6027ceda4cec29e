import { type EqualCell, equalCell } from '../../../datasets/lab/cell.ts';
import type { CellResult } from '../../../experiments/lab/run-cells.ts';

const NO_TRACE = { devices: [], spans: [], tokens: [], counters: [] };

/** A result of a cell with the given measured and simulated figures; predictions take twice as long as measured. */
export function resultOf(
  cell: EqualCell,
  measured: readonly [seconds: number, bytes: number],
  simulated: readonly [seconds: number, bytes: number] = measured,
): CellResult {
  const figures = ([seconds, bytes]: readonly [number, number]) => ({ seconds, bytes, stall: 0 });
  return {
    cell: equalCell(cell),
    measured: figures(measured),
    simulated: figures(simulated),
    overlapped: figures([1.1 * measured[0], measured[1]]),
    predicted: figures([2 * measured[0], measured[1]]),
    traces: { measured: NO_TRACE, simulated: NO_TRACE },
    devices: [{ device: 'one', limitBytes: 100, peakBytes: 90, readBytes: 5, kills: 0 }],
    diskRates: equalCell(cell).diskRates,
  };
}
