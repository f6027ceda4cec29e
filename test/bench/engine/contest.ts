import type { Child } from './child.ts';
import type { Limits, Turn } from './contestant.ts';

/** A thing that both engines do with a model loaded. */
export type Discipline = { readonly kind: 'prefill' | 'decode'; readonly tokens: number };

/** One repetition: what each engine took, and what the machine could do meanwhile. */
export interface Round {
  readonly hearth: Turn;
  readonly llama?: Turn;
  /** Medians of what was measured between turns. */
  readonly limits: Limits;
}

/**
 * Tokens that an engine decodes before it is the other's turn: a tenth of a second to one, so that both see the same
 * machine, whatever else it does.
 */
const TURN_TOKENS = 8;

/** Prompt that decoding goes on from: nearly an empty context, as in llama.cpp's own bench. */
const DECODE_PROMPT = 1;

/**
 * Both engines in turns, `repetitions` times. Who begins changes, since the one after finds the caches full of the
 * other's weights.
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

/** Of some values, the one in the middle. */
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
