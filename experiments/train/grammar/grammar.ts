import { randomStream } from '../../../engine/input/random-stream.ts';
import { arithmetic } from './arithmetic.ts';
import { type Conversation, conversation } from './conversations.ts';
import { createDice } from './dice.ts';
import { story } from './stories.ts';

/** A text of the corpus. */
export interface Document {
  readonly kind: 'story' | 'arithmetic' | 'conversation';
  readonly content: string | Conversation;
  /** −ln of its probability in nats: the least that any model can lose on it, on average. */
  readonly nats: number;
}

/** Documents by kind, of ten. */
const SHARES = [
  [5, 'story'],
  [2, 'arithmetic'],
  [3, 'conversation'],
] as const;

/** The first documents of one part of the corpus. The same seed and part give the same documents. */
export function firstDocuments(seed: number, part: 'training' | 'held-out', count: number): Document[] {
  const random = randomStream(seed, part);
  return Array.from({ length: count }, () => {
    const dice = createDice(random);
    const kind = dice.weighted(SHARES);
    const content = kind === 'story' ? story(dice).text : kind === 'arithmetic' ? arithmetic(dice) : conversation(dice);
    return { kind, content, nats: dice.nats };
  });
}
