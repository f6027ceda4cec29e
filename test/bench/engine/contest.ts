import type { Child } from './child.ts';
import type { Limits, Turn } from './contestant.ts';

/** A task that both engines perform with a loaded model. */
export type Discipline = { readonly kind: 'prefill' | 'decode'; readonly tokens: number };

/** One repetition: the times of both engines, and the limits of the machine meanwhile. */
export interface Round {
  readonly hearth: Turn;
  readonly llama?: Turn;
  /** Medians of the measurements between turns. */
  readonly limits: Limits;
}

/**
 * Tokens that an engine decodes per turn: 0.1 to 1 s, so that both engines meet the same conditions on a busy machine.
 */
const TURN_TOKENS = 8;

/** Prompt tokens before decoding: a nearly empty context, as in llama.cpp's own benchmark. */
const DECODE_PROMPT = 1;

/**
 * Runs both engines in turns, `repetitions` times. They alternate in going first, since the second finds the other's
 * weights in the caches.
 */
export async function contest(
  { kind, tokens }: Discipline,
  hearth: Child,
  llama: Child | undefined,
  repetitions: number,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const order = (repetition % 2 === 0 ? [hearth, llama] : [llama, hearth]).filter((child) => child !== undefined);
    const turns = new Map<Child, Turn[]>(order.map((child) => [child, []]));
    const limits: Limits[] = [];
    const take = async (run: (child: Child) => Promise<Turn>): Promise<void> => {
      for (const child of order) turns.get(child)?.push(await run(child));
      limits.push(await hearth.limits());
    };
    if (kind === 'prefill') {
      await take((child) => child.prefill(tokens));
    } else {
      for (const child of order) await child.prefill(DECODE_PROMPT);
      for (let done = 0; done < tokens; done += TURN_TOKENS) {
        await take((child) => child.decode(Math.min(TURN_TOKENS, tokens - done)));
      }
    }
    const total = (child: Child): Turn => sum(turns.get(child) ?? []);
    rounds.push({
      hearth: total(hearth),
      ...(llama === undefined ? {} : { llama: total(llama) }),
      limits: {
        readBandwidth: middle(limits.map(({ readBandwidth }) => readBandwidth)),
        floatPeak: middle(limits.map(({ floatPeak }) => floatPeak)),
        bytePeak: middle(limits.map(({ bytePeak }) => bytePeak)),
      },
    });
  }
  return rounds;
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
