import { beginningLength } from '../beginning-length.ts';
import type { OpenedReasoning } from './reasoning.ts';

/** A part of a text: what its model thought, and what it answers. */
export interface Thought {
  readonly reasoning: string;
  readonly text: string;
}

/** Takes thoughts out of a text as it grows. What may be a mark is held back. */
export interface ReasoningReader {
  /** Whether it is within thoughts. */
  readonly isThinking: boolean;
  add(text: string): Thought;
  finish(): Thought;
}

/**
 * Reads thoughts where a text begins with their mark, or its prompt did; a mark within an answer is a part of it. White
 * space around thoughts is left out.
 */
export function createReasoningReader({ begin, end, leads, isOpened }: OpenedReasoning): ReasoningReader {
  let held = '';
  let state: 'before' | 'thinking' | 'answer' = isOpened ? 'thinking' : 'before';
  /** Whether there were thoughts, or marks, before the answer. */
  let isMarked = isOpened;
  /** Whether the thoughts so far are empty. */
  let isEmpty = true;
  const opening = [begin, ...leads];

  const before = (): boolean => {
    const trimmed = held.trimStart();
    const mark = opening.find((one) => trimmed.startsWith(one));
    if (mark !== undefined) {
      held = trimmed.slice(mark.length);
      isMarked = true;
      if (mark === begin) [state, isEmpty] = ['thinking', true];
      return true;
    }
    if (trimmed === '' || opening.some((one) => one.startsWith(trimmed))) return false;
    if (isMarked) held = trimmed;
    state = 'answer';
    return true;
  };
  /** Thoughts that can be shown, without white space at their ends. */
  const thinking = (): string => {
    const at = held.indexOf(end);
    const known = at >= 0 ? at : held.length - beginningLength(held, end);
    const thought = held.slice(0, known);
    const shown = (isEmpty ? thought.trimStart() : thought).trimEnd();
    if (shown !== '') isEmpty = false;
    if (at < 0) {
      held = isEmpty ? held.slice(known) : thought.slice(thought.trimEnd().length) + held.slice(known);
      return shown;
    }
    held = held.slice(at + end.length);
    state = 'before';
    return shown;
  };
  return {
    get isThinking() {
      return state === 'thinking';
    },
    add(more) {
      held += more;
      let reasoning = '';
      for (;;) {
        if (state === 'answer') {
          const text = held;
          held = '';
          return { reasoning, text };
        }
        if (state === 'before') {
          if (!before()) return { reasoning, text: '' };
        } else {
          reasoning += thinking();
          if ((state as string) === 'thinking') return { reasoning, text: '' };
        }
      }
    },
    finish() {
      const rest = held;
      held = '';
      if (state === 'thinking') return { reasoning: rest.trimEnd(), text: '' };
      return { reasoning: '', text: isMarked && rest.trim() === '' ? '' : rest };
    },
  };
}
