import { join } from 'node:path';
import { bundle, type FuzzBundle } from './bundle.ts';
import type { Judged } from './child.ts';
import { minimise } from './minimise.ts';
import { type Ended, type JudgingProcess, LIMITS, type Limits, startProcess } from './process.ts';

/** A fault, and the shortest input that shows it. */
export interface Fault {
  /** Number of the input under the campaign's seed. */
  readonly number: number;
  readonly fault: string;
  readonly input: Uint8Array;
  /** Whether the input shows the fault by itself, in a fresh process. */
  readonly alone: boolean;
}

export interface CampaignResult {
  readonly inputs: number;
  /** Inputs by outcome. */
  readonly kinds: Readonly<Record<string, number>>;
  /** One of each kind; `kinds.fault` counts all. */
  readonly faults: readonly Fault[];
  /** Seconds of the slowest input. */
  readonly slowest: number;
  /** Largest memory of a process, bytes. */
  readonly peakBytes: number;
  readonly seconds: number;
}

export interface CampaignOptions {
  /** Path of a module of targets/. */
  readonly module: string;
  readonly seed: number;
  /** Ends after this many seconds, or this many inputs, whichever is first. */
  readonly seconds: number;
  readonly inputs: number;
  readonly limits?: Limits;
  /** Seconds for shortening an input; one whose time ends is kept as short as it is. */
  readonly shortening?: number;
  /** Called after each batch. */
  readonly onProgress?: (inputs: number, seconds: number) => void;
}

const BATCH = 1000;
const SHORTENING_SECONDS = 30;
/** Kinds of faults that are shortened and kept; a campaign with more has something more basic to say. */
const MOST_FAULTS = 20;

/** Judges inputs of a target in a process that is replaced whenever one ends it. */
export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const compiled = await bundle(join(import.meta.dirname, 'child.ts'), options.module);
  try {
    return await judgeAll(options, compiled);
  } finally {
    compiled.remove();
  }
}

async function judgeAll(options: CampaignOptions, compiled: FuzzBundle): Promise<CampaignResult> {
  const { seed, limits = LIMITS, onProgress = () => {} } = options;
  const kinds: Record<string, number> = {};
  const found = new Map<string, { number: number; fault: string }>();
  let [slowest, peakBytes, next] = [0, 0, 0];
  let child = await startProcess(compiled, seed, limits);
  // Starting takes long on a busy machine, and is no part of the time that inputs have.
  const start = performance.now();
  const passed = (): number => (performance.now() - start) / 1000;
  const note = (number: number, fault: string): void => {
    const kind = kindOf(fault);
    if (!found.has(kind) && found.size < MOST_FAULTS) found.set(kind, { number, fault });
  };
  while (next < options.inputs && passed() < options.seconds) {
    const to = Math.min(next + BATCH, options.inputs);
    const answer = await child.judge({ kind: 'batch', from: next, to, seconds: options.seconds - passed() });
    if ('reason' in answer) {
      // What the batch judged before the culprit is judged again, so that every input counts once.
      const { number, reason } = answer;
      child.close();
      note(number, reason);
      child = await startProcess(compiled, seed, limits);
      const before = await child.judge({ kind: 'batch', from: next, to: number, seconds: Number.POSITIVE_INFINITY });
      if (!('reason' in before)) add(before);
      kinds.fault = (kinds.fault ?? 0) + 1;
      next = number + 1;
    } else {
      add(answer);
      next += answer.inputs;
      if (answer.peakBytes > limits.bytes) note(next, tooLarge(limits));
    }
    onProgress(next, passed());
  }
  child.close();
  const seconds = passed();
  const faults = [];
  for (const { number, fault } of found.values()) faults.push(await isolate(options, compiled, number, fault));
  return { inputs: next, kinds, faults, slowest, peakBytes, seconds };

  function add(judged: Judged): void {
    for (const [kind, count] of Object.entries(judged.kinds)) kinds[kind] = (kinds[kind] ?? 0) + count;
    for (const { number, fault } of judged.faults) note(number, fault);
    slowest = Math.max(slowest, judged.slowest);
    peakBytes = Math.max(peakBytes, judged.peakBytes);
  }
}

/** Faults with the same words are of the same kind; numbers and quoted texts differ from input to input. */
function kindOf(fault: string): string {
  return fault.replace(/"(\\.|[^"])*"/g, '""').replace(/\d+/g, '0');
}

function tooLarge({ bytes }: Limits): string {
  return `took more than ${bytes / 1e9} GB of memory`;
}

/** Judges the input of a fault by itself, and shortens it. */
async function isolate(
  { seed, limits = LIMITS, shortening = SHORTENING_SECONDS }: CampaignOptions,
  compiled: FuzzBundle,
  number: number,
  fault: string,
): Promise<Fault> {
  let child: JudgingProcess | undefined = await startProcess(compiled, seed, limits);
  const made = await child.judge({ kind: 'make', number });
  if (!('made' in made && made.made)) {
    // What makes inputs is at fault; what the campaign found so far stays.
    child.close();
    const reason = 'reason' in made ? made.reason : 'gave nothing';
    return { number, fault: `${fault}; making the input again ${reason}`, input: new Uint8Array(), alone: false };
  }
  const input = made.made;
  const faultOf = async (one: Uint8Array): Promise<string | undefined> => {
    child ??= await startProcess(compiled, seed, limits);
    const answer: Judged | Ended = await child.judge({ kind: 'one', input: one });
    // The largest memory of a process stays, so that the next input needs another one.
    const isLarge = !('reason' in answer) && answer.peakBytes > limits.bytes;
    if (!isLarge && !('reason' in answer)) return answer.faults[0]?.fault;
    child.close();
    child = undefined;
    return 'reason' in answer ? answer.reason : tooLarge(limits);
  };
  const isSame = async (one: Uint8Array): Promise<boolean> => kindOf((await faultOf(one)) ?? '') === kindOf(fault);
  const alone = await isSame(input);
  const shortest = alone ? await minimise(input, isSame, shortening) : input;
  child?.close();
  return { number, fault, input: shortest, alone };
}
