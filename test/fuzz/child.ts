import { openSync, readFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { randomStream } from '../../engine/input/random-stream.ts';
import { type FuzzTarget, judge, type Outcome, type TargetModule } from './target.ts';

/**
 * Requests to the process of a campaign: to make and judge inputs by their numbers, as many as a time allows; to judge
 * one input; or to make one.
 */
export type Task =
  | { readonly kind: 'batch'; readonly from: number; readonly to: number; readonly seconds: number }
  | { readonly kind: 'one'; readonly input: Uint8Array }
  | { readonly kind: 'make'; readonly number: number };

/** Its answer. */
export interface Judged {
  readonly inputs: number;
  /** The input that was made. */
  readonly made?: Uint8Array;
  /** Inputs by outcome. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly faults: readonly { readonly number: number; readonly fault: string }[];
  /** Seconds of the slowest input. */
  readonly slowest: number;
  /** The process's largest memory so far (RSS), bytes. */
  readonly peakBytes: number;
}

/** The input of a number under a seed. */
function inputOf(target: FuzzTarget, seed: number, number: number): Uint8Array {
  return target.input(randomStream(seed, `input ${number}`));
}

const NUMBER_BYTES = 8;
const NONE = new Uint8Array();

/**
 * The process of a campaign: `node child.ts MODULE SEED FILE`. It keeps the number of the input that it is at in the
 * file, so that the campaign knows which one ended it or hangs.
 */
async function serve(path: string, seed: number, file: string): Promise<void> {
  const target = await ((await import(pathToFileURL(path).href)) as TargetModule).open();
  const descriptor = openSync(file, 'r+');
  const place = new DataView(new ArrayBuffer(NUMBER_BYTES));
  const judgeBatch = async (
    numbers: Iterable<number>,
    inputs: (number: number) => Uint8Array,
    seconds: number,
  ): Promise<Judged> => {
    const kinds: Record<string, number> = {};
    const faults: { number: number; fault: string }[] = [];
    const end = performance.now() + 1000 * seconds;
    let [slowest, judged] = [0, 0];
    for (const number of numbers) {
      if (judged > 0 && performance.now() > end) break;
      place.setFloat64(0, number);
      writeSync(descriptor, place, 0, NUMBER_BYTES, 0);
      const input = inputs(number);
      const start = performance.now();
      const outcome: Outcome = await judge(target, input);
      judged++;
      slowest = Math.max(slowest, (performance.now() - start) / 1000);
      const kind = 'fault' in outcome ? 'fault' : outcome.kind;
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      if ('fault' in outcome) faults.push({ number, fault: outcome.fault });
    }
    return { inputs: judged, kinds, faults, slowest, peakBytes: peakBytes() };
  };
  const answer = async (task: Task): Promise<Judged> => {
    if (task.kind === 'one') return await judgeBatch([-1], () => task.input, 0);
    if (task.kind === 'make')
      return { ...(await judgeBatch([], () => NONE, 0)), made: inputOf(target, seed, task.number) };
    return await judgeBatch(range(task.from, task.to), (number) => inputOf(target, seed, number), task.seconds);
  };
  process.on('message', (task: Task) => void answer(task).then((judged) => process.send?.(judged)));
  process.send?.('ready');
}

/**
 * The largest memory so far by /proc, bytes; what it is now where there is none. `resourceUsage().maxRSS` isn't asked: a
 * child's is never below that of the process which forked it.
 */
function peakBytes(): number {
  try {
    return 1024 * Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  } catch {
    return process.memoryUsage.rss();
  }
}

function* range(from: number, to: number): Generator<number> {
  for (let number = from; number < to; number++) yield number;
}

const [path, seed, file] = process.argv.slice(2);
if (process.send !== undefined && path !== undefined && file !== undefined) await serve(path, Number(seed), file);
