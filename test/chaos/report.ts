import { type Episode, NAMED_WITHIN } from './episode.ts';
import { FAULTS, type FaultName } from './faults.ts';
import type { Held } from './process.ts';
import type { Round, SubjectResult, Watched } from './subject.ts';

export interface ChaosResult {
  readonly seed: number;
  readonly minutes: number;
  readonly episodes: readonly Episode[];
  /** Memory of the worker that keeps its process, after each request. */
  readonly held: readonly Held[];
  /** Kinds of faults that can't be made here. */
  readonly skipped: readonly FaultName[];
  /** Why; empty if none was skipped. */
  readonly missing: string;
  /** Servers and sweeps that were struck at the same time. */
  readonly others?: readonly SubjectResult[];
}

/** Growth of a process's memory over a run that counts as none, bytes: V8 keeps some of what it has had. */
const FLAT_BYTES = 24 * 2 ** 20;
/** Requests after which a worker has reached its usual size. */
const WARM = 5;

/** The findings of a run, one line each: broken promises, and whether memory and descriptors are flat. */
export function verdict({ episodes, held, others = [] }: ChaosResult): string[] {
  const requests = episodes.flatMap((one, index) =>
    one.broken.map((problem) => `request ${index}, ${one.fault} of ${one.victim} in ${one.phase}: ${problem}`),
  );
  const rounds = others.flatMap((subject) =>
    subject.rounds.flatMap(({ fault, broken }, index) =>
      broken.map((problem) => `${fault}, round ${index}: ${problem}`),
    ),
  );
  const watched = [{ name: 'the watched worker', held }, ...others.flatMap((subject) => subject.watched)];
  return [...requests, ...rounds, ...watched.flatMap(growth)];
}

/** Whether what a process holds has grown, once it had reached its usual size. */
function growth({ name, held }: Watched): string[] {
  const warm = held.slice(WARM);
  const [first, last] = [warm[0], warm.at(-1)];
  if (first === undefined || last === undefined) return [];
  const grown =
    median(warm.slice(-WARM).map(({ bytes }) => bytes)) - median(warm.slice(0, WARM).map(({ bytes }) => bytes));
  const more = Math.min(...warm.slice(-WARM).map((one) => one.descriptors)) - first.descriptors;
  return [
    ...(grown > FLAT_BYTES ? [`${name} grew by ${(grown / 2 ** 20).toFixed(0)} MiB`] : []),
    ...(more > 0 ? [`${name} has ${more} descriptors more than at first`] : []),
  ];
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
  const { episodes, held, seed, minutes, skipped, missing, others = [] } = result;
  const count = (kind: Episode['end']['kind']): number => episodes.filter(({ end }) => end.kind === kind).length;
  const span = (values: readonly number[]): string =>
    values.length === 0
      ? '–'
      : `${values[0]?.toFixed(0)} at first, ${values.at(-1)?.toFixed(0)} at last, ${Math.max(...values).toFixed(0)} at most`;
  const ring = [
    `${episodes.length} requests: ${count('exact')} exact, ${count('named')} ended with a reason, ` +
      `${count('killed')} heads killed, ${count('wrong')} wrong`,
    `names are due within ${NAMED_WITHIN} s in which the head has a processor; medians, and the worst in brackets`,
  ];
  const processes = [{ name: 'the watched worker', held }, ...others.flatMap(({ watched }) => watched)];
  return [
    `${minutes.toFixed(0)} minutes under seed ${seed}`,
    ...(episodes.length === 0 ? [] : ring),
    ...others.flatMap(({ rounds }) => roundLines(rounds)),
    ...processes
      .filter((one) => one.held.length > 0)
      .map(
        (one) =>
          `${one.name}: memory of its own ${span(one.held.map(({ bytes }) => bytes / 2 ** 20))} MiB; ` +
          `descriptors ${span(one.held.map(({ descriptors }) => descriptors))}`,
      ),
    ...(skipped.length === 0 ? [] : [`skipped: ${skipped.join(', ')} (missing here: ${missing})`]),
  ].join('\n');
}

/** Rounds by fault. */
function roundLines(rounds: readonly Round[]): string[] {
  return [...new Set(rounds.map(({ fault }) => fault))].sort().map((fault) => {
    const own = rounds.filter((round) => round.fault === fault);
    const sum = (pick: (round: Round) => number): number => own.reduce((total, round) => total + pick(round), 0);
    const counts = `${sum(({ whole }) => whole)} whole, ${sum(({ brokenOff }) => brokenOff)} broken off`;
    return `${fault}: ${own.length} rounds, ${counts}, ${sum(({ broken }) => broken.length)} promises broken`;
  });
}

/** The last line: whether all promises were held. */
export function conclusion(broken: readonly string[]): string {
  return broken.length === 0 ? 'all promises held' : `${broken.length} promises broken`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
