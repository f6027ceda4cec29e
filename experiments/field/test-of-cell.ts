import { mean } from '../report/mean.ts';

/** The work that a test times: a prompt's tokens processed together, or generated tokens at a context. */
export type FieldTest =
  | {
      readonly phase: 'prefill';
      /** Tokens of each prompt; of several, the mean of their rates is stated. */
      readonly prompts: readonly number[];
    }
  | {
      readonly phase: 'decode';
      /** Mean tokens in the KV cache while a token is generated. */
      readonly context: number;
      /** Whether the source says how long the context is. */
      readonly stated: boolean;
    };

/** Context of a decode test that doesn't state one, tokens. Assumed: a short chat. */
const USUAL_CONTEXT = 512;

/** Prompts of LocalScore's nine tests, of whose rates it states the mean, tokens (its TestDescriptionsTable.tsx). */
const LOCALSCORE_PROMPTS: readonly number[] = [1024, 4096, 2048, 2048, 1024, 1280, 384, 64, 16];
/** Tokens that each of the nine generates after its prompt. */
const LOCALSCORE_GENERATED: readonly number[] = [16, 256, 256, 768, 1024, 3072, 1152, 1024, 1536];
/** Mean over the nine of the context while they generate, tokens. */
const LOCALSCORE_CONTEXT = Math.round(mean(LOCALSCORE_PROMPTS) + mean(LOCALSCORE_GENERATED) / 2);

/**
 * Reads a test's text: `pp512`, `tg128`, `tg32 @ d32768`, `decode at context 4k`, `decode of 516 after 61`,
 * `prefill of 128 (TTFT 145.90 ms)`, `LocalScore prompt` and `LocalScore generation`; `undefined` for others. Tests that
 * generate N tokens count with the mean context, half of them beyond the prompt.
 */
export function readFieldTest(text: string): FieldTest | undefined {
  const decode = (context: number, stated = true): FieldTest => ({ phase: 'decode', context, stated });
  const numbers = (pattern: RegExp): number[] | undefined => pattern.exec(text)?.slice(1).map(Number);
  const prompt = numbers(/^pp ?(\d+)$/) ?? numbers(/^prefill of (\d+)(?: tokens)? \(.*TTFT/);
  if (prompt !== undefined) return { phase: 'prefill', prompts: prompt };
  if (text === 'LocalScore prompt') return { phase: 'prefill', prompts: LOCALSCORE_PROMPTS };
  if (text === 'LocalScore generation') return decode(LOCALSCORE_CONTEXT);
  const [alone] = numbers(/^(?:tg|gen )(\d+)$/) ?? numbers(/^decode, (?:about )?(\d+) tokens$/) ?? [];
  if (alone !== undefined) return decode(Math.round(alone / 2));
  const after = numbers(/^decode of (\d+) after (\d+)$/) ?? numbers(/^decode, (\d+) tokens after (\d+)$/);
  if (after !== undefined) return decode((after[1] as number) + Math.round((after[0] as number) / 2));
  const [thousands] = numbers(/^decode at context (\d+)k$/) ?? [];
  if (thousands !== undefined) return decode(1024 * thousands);
  const deep = numbers(/^tg ?(\d+) @ d(\d+)$/);
  if (deep !== undefined) return decode((deep[1] as number) + Math.round((deep[0] as number) / 2));
  const [context] = numbers(/^decode(?:,| at) context (\d+)$/) ?? [];
  if (context !== undefined) return decode(context);
  return text === 'decode' ? decode(USUAL_CONTEXT, false) : undefined;
}
