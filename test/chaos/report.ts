import { type Episode, NAMED_WITHIN } from './episode.ts';
import { FAULTS, type FaultName } from './faults.ts';
import type { Held } from './ring.ts';

export interface ChaosResult {
  readonly seed: number;
  readonly minutes: number;
  readonly episodes: readonly Episode[];
  /** What the worker that keeps its process held after each request. */
  readonly held: readonly Held[];
  /** Kinds of faults that can't be made here. */
  readonly skipped: readonly FaultName[];
  /** Why; empty if none was skipped. */
  readonly missing: string;
}

/** Growth of a process's memory over a run that counts as none, bytes: V8 keeps some of what it has had. */
const FLAT_BYTES = 24 * 2 ** 20;
/** Requests after which a worker has reached its usual size. */
const WARM = 5;

/** What a run shows as one line each: broken promises, and whether memory and descriptors are flat. */
export function verdict({ episodes, held }: ChaosResult): string[] {
  const broken = episodes.flatMap((one, index) =>
    one.broken.map((problem) => `request ${index}, ${one.fault} of ${one.victim} in ${one.phase}: ${problem}`),
  );
  const warm = held.slice(WARM);
  const [first, last] = [warm[0], warm.at(-1)];
  if (first === undefined || last === undefined) return broken;
  const grown =
    median(warm.slice(-WARM).map(({ bytes }) => bytes)) - median(warm.slice(0, WARM).map(({ bytes }) => bytes));
  if (grown > FLAT_BYTES) broken.push(`the watched worker grew by ${(grown / 2 ** 20).toFixed(0)} MiB`);
  const more = Math.min(...warm.slice(-WARM).map((one) => one.descriptors)) - first.descriptors;
  if (more > 0) broken.push(`the watched worker has ${more} descriptors more than at first`);
  return broken;
}

/** Faults by kind as a Markdown table. */
export function table({ episodes }: Pick<ChaosResult, 'episodes'>): string {
  const names = (Object.keys(FAULTS) as FaultName[]).filter((name) => episodes.some(({ fault }) => fault === name));
  const rows = names.map((name) =>
    row(
      `${name}: ${FAULTS[name].what}`,
      episodes.filter(({ fault }) => fault === name),
    ),
  );
  const titles = ['fault', 'requests', 'exact', 'reason', 'killed', 'broken', 'to name, s', 'to go on, s'];
  const lines = [titles, titles.map(() => '---'), ...rows, row('all', episodes)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function row(name: string, episodes: readonly Episode[]): string[] {
  const ends = (kind: Episode['end']['kind']): string => String(episodes.filter(({ end }) => end.kind === kind).length);
  const seconds = (pick: (one: Episode) => number | undefined): string => {
    const known = episodes.map(pick).filter((value) => value !== undefined);
    return known.length === 0 ? '–' : `${median(known).toFixed(1)} (${Math.max(...known).toFixed(1)})`;
  };
  const broken = String(episodes.filter((one) => one.broken.length > 0).length);
  const naming = seconds(({ naming }) => naming);
  const goingOn = seconds((one) => one.goingOn ?? one.freeing);
  return [name, String(episodes.length), ends('exact'), ends('named'), ends('killed'), broken, naming, goingOn];
}

/** Requests, ends and the watched worker in a few lines. */
export function summary(result: ChaosResult): string {
  const { episodes, held, seed, minutes, skipped, missing } = result;
  const count = (kind: Episode['end']['kind']): number => episodes.filter(({ end }) => end.kind === kind).length;
  const sizes = held.map(({ bytes }) => bytes / 2 ** 20);
  const open = held.map(({ descriptors }) => descriptors);
  const span = (values: readonly number[]): string =>
    values.length === 0
      ? '–'
      : `${values[0]?.toFixed(0)} at first, ${values.at(-1)?.toFixed(0)} at last, ${Math.max(...values).toFixed(0)} at most`;
  return [
    `${episodes.length} requests in ${minutes.toFixed(0)} minutes under seed ${seed}: ${count('exact')} exact, ` +
      `${count('named')} ended with a reason, ${count('killed')} heads killed, ${count('wrong')} wrong`,
    `names are due within ${NAMED_WITHIN} s; medians, and the worst in brackets`,
    `the watched worker: memory of its own ${span(sizes)} MiB; descriptors ${span(open)}`,
    ...(skipped.length === 0 ? [] : [`skipped: ${skipped.join(', ')} (missing here: ${missing})`]),
  ].join('\n');
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
