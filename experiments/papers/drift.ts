import type { RecordedCell, RecordedError } from './record.ts';

/** An error may grow by a point before it counts as drift. */
const DRIFT_LIMIT = 0.01;
/** Of what a record rounds off. */
const ROUNDING = 5e-5;

/**
 * What has become worse than the record: errors that grew by more than a point, answers that are gone or no longer agree
 * on what runs, cells that are gone, and cells that the record doesn't know. Improvements are no drift.
 */
export function drift(recorded: readonly RecordedCell[], found: readonly RecordedCell[]): string[] {
  const known = new Map(recorded.map((cell) => [cell.key, cell]));
  const now = new Map(found.map((cell) => [cell.key, cell]));
  return [
    ...recorded.filter(({ key }) => !now.has(key)).map(({ key }) => `${key}: is no longer reproduced`),
    ...found.flatMap((cell) => {
      const before = known.get(cell.key);
      if (before === undefined) return [`${cell.key}: is not in the record`];
      return (['predicted', 'simulated'] as const).flatMap((answer) => {
        const message = worsening(before[answer], cell[answer]);
        return message === undefined ? [] : [`${cell.key}, ${answer}: ${message}`];
      });
    }),
  ];
}

function worsening(before: RecordedError, now: RecordedError): string | undefined {
  if (typeof before === 'number' && typeof now === 'number') {
    const grew = Math.abs(now) - Math.abs(before);
    if (grew <= DRIFT_LIMIT + ROUNDING) return undefined;
    return `error ${percent(before)} became ${percent(now)}`;
  }
  if (before === now || before === '' || before === 'disagrees') return undefined;
  return `${text(before)} became ${text(now)}`;
}

const percent = (error: number): string => `${(100 * error).toFixed(1)} %`;
const text = (error: RecordedError): string =>
  typeof error === 'number' ? `error ${percent(error)}` : error || 'nothing';
