import { setImmediate, setTimeout } from 'node:timers/promises';
import { promptOf, type StreamedRequest } from '../../engine/batch/request-stream.ts';
import { type PassLoad, type PassText, passLoad } from '../../engine/cost/mixed-pass.ts';
import type { ProcessorClock } from '../../engine/profile/processor-clock.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import type { Sequences, SequenceWork } from '../../engine/runtime/texts/sequences.ts';
import type { ServedRequest } from '../../engine/trace/served-requests.ts';
import { greedy, TOKENIZER } from './engine-probe.ts';

/** By which timers may be late. */
const LATE_SECONDS = 0.002;

export interface DrivenPass {
  readonly load: PassLoad;
  /** That its threads had for themselves. */
  readonly seconds: number;
}

export interface Driven {
  readonly requests: readonly ServedRequest[];
  readonly passes: readonly DrivenPass[];
  /** Passes' wall time, and the time that their threads had for themselves. */
  readonly wall: number;
  readonly own: number;
}

export interface ToDrive {
  readonly requests: readonly StreamedRequest[];
  readonly clients: number | undefined;
  /** Called after a pass that took this many seconds; time stands still until it is done. */
  readonly between?: (passSeconds: number) => Promise<void>;
}

/**
 * Sends requests to the batch engine, at their arrivals or from this many clients. Time stands still while the system keeps
 * the model's threads waiting for a processor that other programs have: a pass lasts as long as its threads ran, and
 * requests arrive by that clock.
 */
export async function driveEngine(
  sequences: Sequences,
  clock: ProcessorClock,
  { requests, clients, between }: ToDrive,
): Promise<Driven> {
  const prompts = requests.map((request, index) => promptOf(request, index, sequences.model.vocabularySize));
  const begin = performance.now();
  let lost = 0;
  let stopped: number | undefined;
  const now = (): number => stopped ?? (performance.now() - begin) / 1000 - lost;
  const total = { wall: 0, own: 0 };
  const passes: DrivenPass[] = [];
  const served: ServedRequest[] = [];
  const running: Promise<void>[] = [];
  let next = 0;

  const engine = createBatchEngine({ sequences: timed(), tokenizer: TOKENIZER, clock: now });
  const submit = (arrival: number): void => {
    const index = next++;
    const request = requests[index] as StreamedRequest;
    const submitted = now();
    const { result } = engine.submit({
      prompt: prompts[index] as number[],
      tokens: request.outputTokens,
      sampler: greedy(),
    });
    const done = result.then(({ firstTokenSeconds = Number.NaN, laterSeconds, cachedTokens, promptTokens, tokens }) => {
      const firstToken = submitted + firstTokenSeconds;
      const times = { arrival, begin: undefined, firstToken, end: firstToken + laterSeconds };
      served[index] = { promptTokens, outputTokens: tokens.length, cachedTokens, ...times };
      if (clients !== undefined && next < requests.length) submit(firstToken + laterSeconds);
    });
    running.push(done);
  };
  /** Submits what has arrived. @returns seconds until the next arrival; `undefined` after the last */
  const submitDue = (): number | undefined => {
    for (;;) {
      const request = requests[next];
      if (request === undefined) return undefined;
      if (request.arrival > now()) return request.arrival - now();
      submit(request.arrival);
    }
  };

  if (clients === undefined) {
    for (let wait = submitDue(); wait !== undefined; wait = submitDue()) {
      if (wait > LATE_SECONDS) await setTimeout(1000 * (wait - LATE_SECONDS));
      else await setImmediate();
    }
  } else for (let client = 0; client < Math.min(clients, requests.length); client++) submit(0);
  // Clients submit further requests while this waits.
  for (let index = 0; index < running.length; index++) await running[index];
  await engine.close();
  return { requests: served, passes, ...total };

  function timed(): Sequences {
    return {
      ...sequences,
      get freePages() {
        return sequences.freePages;
      },
      async evaluate(work) {
        const start = performance.now();
        const load = passLoad(work.map(passTextOf));
        let logits = new Float32Array();
        const timing = await clock.time(async () => {
          logits = (await sequences.evaluate(work)) as Float32Array<ArrayBuffer>;
        });
        total.wall += timing.wall;
        total.own += timing.own;
        passes.push({ load, seconds: timing.own });
        lost += (performance.now() - start) / 1000 - timing.own;
        if (clients === undefined) submitDue();
        if (between !== undefined) {
          stopped = now();
          await between(timing.own);
          lost = (performance.now() - begin) / 1000 - stopped;
          stopped = undefined;
        }
        return logits;
      },
    };
  }
}

function passTextOf({ sequence, tokens, logits, multiplied }: SequenceWork): PassText {
  const { position } = sequence;
  return { tokens: tokens.length, position, isGenerated: multiplied === 'singly', isLast: logits !== 'none' };
}
