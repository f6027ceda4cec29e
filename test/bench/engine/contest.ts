import type { Child } from './child.ts';
import type { Limits, Turn } from './contestant.ts';
import type { Engine } from './engine.ts';

/** A task that all engines perform with a loaded model and one text. */
export type Discipline = { readonly kind: 'prefill' | 'decode'; readonly tokens: number };

/** So many texts are continued at once, each by `tokens` after its first. */
export type Requests = { readonly kind: 'requests'; readonly requests: number; readonly tokens: number };

/** The discipline as tables name it. */
export function disciplineName(discipline: Discipline | Requests): string {
  if (discipline.kind === 'requests') return `${discipline.requests} requests`;
  return `${discipline.kind} ${discipline.tokens}`;
}

/** How often engines take turns. */
export interface Rounds {
  readonly repetitions: number;
  /** Whether there is time for another round after the first. Default: always. */
  readonly hasTime?: () => boolean;
}

/** One repetition: the times of all engines, and the limits of the machine meanwhile. */
export interface Round {
  readonly hearth: Turn;
  /** Seconds of every peer that has the discipline, by name. */
  readonly peers: ReadonlyMap<string, number>;
  /** Medians of the measurements after each turn. */
  readonly limits: Limits;
}

/**
 * Tokens that an engine decodes per turn where all can go on from their last token: 0.1 to 1 s, so that they meet the
 * same conditions on a busy machine.
 */
const TURN_TOKENS = 8;

/** Prompt tokens before decoding: a nearly empty context, as in llama.cpp's own benchmark. */
const DECODE_PROMPT = 1;

/**
 * Runs all engines in turns, `repetitions` times, or fewer where time is up before. Each round another one goes first, since the next finds its weights
 * in the caches. A peer that can't go on from its last token makes every engine decode all tokens in one turn; one that
 * has no requests is absent from theirs.
 */
export async function contest(
  discipline: Discipline | Requests,
  hearth: Engine & Pick<Child, 'limits'>,
  all: readonly Engine[],
  { repetitions, hasTime = () => true }: Rounds,
): Promise<Round[]> {
  const { kind, tokens } = discipline;
  const peers = kind === 'requests' ? all.filter((engine) => engine.requests !== undefined) : all;
  const engines: readonly Engine[] = [hearth, ...peers];
  const turnTokens = peers.every(({ continues }) => continues) ? TURN_TOKENS : tokens;
  const rounds: Round[] = [];
  for (let repetition = 0; repetition < repetitions && (repetition === 0 || hasTime()); repetition++) {
    const first = repetition % engines.length;
    const order = [...engines.slice(first), ...engines.slice(0, first)];
    const turns = new Map<Engine, Turn[]>(engines.map((engine) => [engine, []]));
    const limits: Limits[] = [];
    const take = async (run: (engine: Engine) => Promise<Turn>): Promise<void> => {
      for (const engine of order) {
        turns.get(engine)?.push(await run(engine));
        limits.push(await hearth.limits());
      }
    };
    if (kind === 'requests') {
      await take((engine) => engine.requests?.(discipline.requests, tokens) ?? Promise.reject(noRequests(engine)));
    } else if (kind === 'prefill') {
      await take((engine) => engine.prefill(tokens));
    } else {
      for (const engine of order) {
        if (engine.continues) await engine.prefill(DECODE_PROMPT);
      }
      for (let done = 0; done < tokens; done += turnTokens) {
        await take((engine) => engine.decode(Math.min(turnTokens, tokens - done)));
      }
    }
    const total = (engine: Engine): Turn => sum(turns.get(engine) ?? []);
    rounds.push({
      hearth: total(hearth),
      peers: new Map(peers.map((peer) => [peer.name, total(peer).seconds])),
      limits: {
        readBandwidth: middle(limits.map(({ readBandwidth }) => readBandwidth)),
        floatPeak: middle(limits.map(({ floatPeak }) => floatPeak)),
        bytePeak: middle(limits.map(({ bytePeak }) => bytePeak)),
      },
    });
  }
  return rounds;
}

function noRequests({ name }: Engine): Error {
  return new Error(`${name} has one text at a time`);
}

/** The median. */
export function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function sum(turns: readonly Turn[]): Turn {
  return turns.reduce(
    (all, turn) => ({
      seconds: all.seconds + turn.seconds,
      processorSeconds: all.processorSeconds + turn.processorSeconds,
    }),
    { seconds: 0, processorSeconds: 0 },
  );
}
