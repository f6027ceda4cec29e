import type { CountedPage } from '../../batch/counted-pages.ts';
import { InputError } from '../../input/input-error.ts';
import type { Model } from '../../model/model.ts';
import { joined } from '../../runtime/pass/wanted-rows.ts';
import { checkRoom } from '../../runtime/texts/create-transformer.ts';
import type { Sequence, Sequences } from '../../runtime/texts/sequences.ts';
import type { RingText, RingTexts } from './ring-texts.ts';

export interface RingSequencesOptions {
  readonly model: Model;
  readonly texts: RingTexts;
  /** Tokens that a pass can have: several frames, which follow each other through the ring. */
  readonly mostTokens: number;
}

/**
 * The texts of a ring as sequences, for continuous batching: a pass takes the tokens of all of them through a window
 * together, so that its weights are read once.
 */
export function ringSequences({ model, texts, mostTokens }: RingSequencesOptions): Sequences {
  const { contextLength, pageTokens, pages } = texts;
  const opened = new Map<Sequence, RingText>();
  const textOf = (sequence: Sequence): RingText => {
    const text = opened.get(sequence);
    if (text === undefined) throw new RangeError('a closed sequence');
    return text;
  };

  return {
    ...{ model, contextLength, mostTokens, pageTokens, pages },
    get freePages() {
      return texts.freePages;
    },
    open(beginning = []) {
      const text = texts.open(beginning as readonly CountedPage[]);
      const sequence: Sequence = {
        get position() {
          return text.position;
        },
        get room() {
          return contextLength - text.position;
        },
        get sharedPages() {
          return text.sharedPages;
        },
        get foundTokens() {
          return text.foundTokens;
        },
        pagesFor: text.pagesFor,
        rewind: text.rewind,
        keep: text.keep,
        close() {
          text.close();
          opened.delete(sequence);
        },
      };
      opened.set(sequence, text);
      return sequence;
    },
    async evaluate(work) {
      if (new Set(work.map(({ sequence }) => sequence)).size < work.length)
        throw new RangeError('a sequence occurs twice in a pass');
      const total = work.reduce((sum, { tokens }) => sum + tokens.length, 0);
      if (total > mostTokens) throw new RangeError(`${total} tokens in a pass of at most ${mostTokens}`);
      for (const { sequence, tokens } of work) checkRoom(textOf(sequence).position, tokens.length, contextLength);
      const needed = work.reduce((sum, { sequence, tokens }) => sum + textOf(sequence).pagesFor(tokens.length), 0);
      const { freePages } = texts;
      if (needed > freePages)
        throw new InputError('KV memory', `${needed} more pages are needed, and ${freePages} of ${pages} are free`);
      const found = await texts.evaluate(
        work.map(({ sequence, tokens, logits, multiplied }) => {
          const rows = logits === 'none' ? 0 : logits === 'last' ? 1 : tokens.length;
          const wanted = logits === 'hidden' ? 'hidden' : 'logits';
          return { text: textOf(sequence), tokens, rows, wanted, multiplied };
        }),
      );
      return joined(found);
    },
  };
}
