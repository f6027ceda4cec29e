import { openSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { randomStream } from '../../engine/input/random-stream.ts';
import { type FuzzTarget, judge, type Outcome, type TargetModule } from './target.ts';

/** What the process of a campaign is asked: to make and judge inputs by their numbers, or to judge one input. */
export type Task =
  | { readonly kind: 'batch'; readonly from: number; readonly to: number }
  | { readonly kind: 'one'; readonly input: Uint8Array };

/** What it answers. */
export interface Judged {
  /** Inputs by outcome. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly faults: readonly { readonly number: number; readonly fault: string }[];
  /** Seconds of the slowest input. */
  readonly slowest: number;
  /** The process's largest memory so far (RSS), bytes. */
  readonly peakBytes: number;
}

/** The input of a number under a seed. */
export function inputOf(target: FuzzTarget, seed: number, number: number): Uint8Array {
  return target.input(randomStream(seed, `input ${number}`));
}

const NUMBER_BYTES = 8;

/**
 * The process of a campaign: `node child.ts MODULE SEED FILE`. It keeps the number of the input that it is at in the
 * file, so that the campaign knows which one ended it or hangs.
 */
async function serve(path: string, seed: number, file: string): Promise<void> {
  const target = await ((await import(pathToFileURL(path).href)) as TargetModule).open();
  const descriptor = openSync(file, 'r+');
  const place = new DataView(new ArrayBuffer(NUMBER_BYTES));
  const judgeBatch = async (numbers: Iterable<number>, inputs: (number: number) => Uint8Array): Promise<Judged> => {
    const kinds: Record<string, number> = {};
    const faults: { number: number; fault: string }[] = [];
    let slowest = 0;
    for (const number of numbers) {
      place.setFloat64(0, number);
      writeSync(descriptor, place, 0, NUMBER_BYTES, 0);
      const input = inputs(number);
      const start = performance.now();
      const outcome: Outcome = await judge(target, input);
      slowest = Math.max(slowest, (performance.now() - start) / 1000);
      const kind = 'fault' in outcome ? 'fault' : outcome.kind;
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      if ('fault' in outcome) faults.push({ number, fault: outcome.fault });
    }
    return { kinds, faults, slowest, peakBytes: 1024 * process.resourceUsage().maxRSS };
  };
  process.on('message', (task: Task) => {
    const judged =
      task.kind === 'one'
        ? judgeBatch([-1], () => task.input)
        : judgeBatch(range(task.from, task.to), (number) => inputOf(target, seed, number));
    judged.then((answer) => process.send?.(answer));
  });
  process.send?.('ready');
}

function* range(from: number, to: number): Generator<number> {
  for (let number = from; number < to; number++) yield number;
}

const [path, seed, file] = process.argv.slice(2);
if (process.send !== undefined && path !== undefined && file !== undefined) await serve(path, Number(seed), file);
