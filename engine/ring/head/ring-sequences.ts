import { InputError } from '../../input/input-error.ts';
import type { Model } from '../../model/model.ts';
import { checkRoom } from '../../runtime/create-transformer.ts';
import type { Sequence, Sequences } from '../../runtime/sequences.ts';
import { joined } from '../../runtime/wanted-rows.ts';
import type { RingText, RingTexts } from './ring-texts.ts';

export interface RingSequencesOptions {
  readonly model: Model;
  readonly texts: RingTexts;
  /** Texts whose keys and values have room on every device at the same time (Assignment.requests). */
  readonly most: number;
  /** Tokens that a pass can have: several frames, which follow each other through the ring. */
  readonly mostTokens: number;
}

/**
 * The texts of a ring as sequences, for continuous batching: a pass takes the tokens of all of them through a window
 * together, so that its weights are read once. Devices hold the caches of whole texts, so a page is a whole context;
 * none is shared between texts.
 */
export function ringSequences({ model, texts, most, mostTokens }: RingSequencesOptions): Sequences {
  const { contextLength } = texts;
  const opened = new Map<Sequence, RingText>();
  const textOf = (sequence: Sequence): RingText => {
    const text = opened.get(sequence);
    if (text === undefined) throw new RangeError('a closed sequence');
    return text;
  };
  const pagesFor = (text: RingText, tokens: number): number => (text.position === 0 && tokens > 0 ? 1 : 0);
  const free = (): number => most - [...opened.values()].filter(({ position }) => position > 0).length;

  return {
    ...{ model, contextLength, mostTokens, pageTokens: contextLength, pages: most },
    get freePages() {
      return free();
    },
    open(beginning = []) {
      if (beginning.length > 0) throw new RangeError('texts of a ring share no pages');
      const text = texts.open();
      const sequence: Sequence = {
        get position() {
          return text.position;
        },
        get room() {
          return contextLength - text.position;
        },
        sharedPages: 0,
        pagesFor: (tokens) => pagesFor(text, tokens),
        rewind(position) {
          if (!(Number.isInteger(position) && position >= 0 && position <= text.position))
            throw new RangeError(`rewind to ${position} of ${text.position} tokens`);
          text.rewind(position);
        },
        keep() {
          throw new RangeError('pages of a ring are not kept');
        },
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
      const needed = work.reduce((sum, { sequence, tokens }) => sum + pagesFor(textOf(sequence), tokens.length), 0);
      if (needed > free()) throw new InputError('KV memory', `there is room for ${most} texts, and all are taken`);
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
