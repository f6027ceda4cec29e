import { passLoad } from '../../engine/cost/mixed-pass.ts';
import type { ProcessorClock } from '../../engine/profile/processor-clock.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import type { Sequence, Sequences } from '../../engine/runtime/texts/sequences.ts';
import { passPredictor, type Server } from './predicted.ts';

/** A pass of `prompt` tokens of a prompt, together with `decoding` texts that have `context` tokens each. */
export interface PassCase {
  readonly prompt: number;
  readonly decoding: number;
  readonly context: number;
}

export interface MeasuredPass extends PassCase {
  readonly predicted: number;
  readonly measured: Sample;
}

const CASES: readonly PassCase[] = [
  ...[1, 2, 4, 8].map((decoding) => ({ prompt: 0, decoding, context: 64 })),
  { prompt: 0, decoding: 4, context: 256 },
  ...[1, 16, 64, 256].map((prompt) => ({ prompt, decoding: 0, context: 0 })),
  { prompt: 16, decoding: 4, context: 64 },
  { prompt: 64, decoding: 1, context: 64 },
  { prompt: 64, decoding: 8, context: 64 },
];
/** Passes of each case in a round. */
const REPEATS = 4;

/** Times single passes in rounds, so that probes of the machine can take turns with them. */
export function measurePasses(sequences: Sequences, clock: ProcessorClock) {
  const times = CASES.map((): number[] => []);
  return {
    async round(): Promise<void> {
      for (const [index, one] of CASES.entries()) times[index]?.push(...(await secondsOf(sequences, clock, one)));
    },
    measured(server: Server): MeasuredPass[] {
      const predicted = passPredictor(server);
      return CASES.map((one, index) => ({
        ...one,
        predicted: predicted(passLoad(textsOf(one))),
        measured: sampleOf(times[index]?.slice(REPEATS) ?? []),
      }));
    },
  };
}

function textsOf({ prompt, decoding, context: position }: PassCase) {
  const generated = Array.from({ length: decoding }, () => ({ tokens: 1, position, isGenerated: true, isLast: true }));
  return prompt === 0 ? generated : [...generated, { tokens: prompt, position: 0, isGenerated: false, isLast: true }];
}

async function secondsOf(
  sequences: Sequences,
  clock: ProcessorClock,
  { prompt, decoding, context }: PassCase,
): Promise<number[]> {
  const token = (at: number): number => (7 * at + 1) % sequences.model.vocabularySize;
  const tokens = (count: number): number[] => Array.from({ length: count }, (_, at) => token(at));
  const texts: Sequence[] = [];
  for (let text = 0; text < decoding; text++) {
    const sequence = sequences.open();
    await sequences.evaluate([{ sequence, tokens: tokens(context), logits: 'none', multiplied: 'together' }]);
    texts.push(sequence);
  }
  const begun = prompt === 0 ? undefined : sequences.open();
  const seconds: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const work = [
      ...texts.map((sequence) => ({ sequence, tokens: [1], logits: 'last', multiplied: 'singly' }) as const),
      ...(begun === undefined
        ? []
        : [{ sequence: begun, tokens: tokens(prompt), logits: 'last', multiplied: 'together' } as const]),
    ];
    const { own } = await clock.time(async () => {
      await sequences.evaluate(work);
    });
    seconds.push(own);
    for (const text of texts) text.rewind(context);
    begun?.rewind(0);
  }
  for (const text of [...texts, ...(begun === undefined ? [] : [begun])]) text.close();
  return seconds;
}
