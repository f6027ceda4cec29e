import { randomStream } from '../../engine/input/random-stream.ts';
import type { ModelDrafter } from '../../engine/text/speculation/model-drafter.ts';

/**
 * A drafter that knows the text and errs at random, so that its acceptance rate is known: each drafted token is right
 * with probability α, as long as those before it are. It costs nothing, as a lookup does.
 * @param text prompt and what follows it without drafts
 */
export function standIn(text: readonly number[], acceptanceRate: number, seed: number): ModelDrafter {
  const random = randomStream(seed, 'drafts');
  return {
    isReady: true,
    unread: () => 0,
    readSeconds: () => 0,
    read: async () => 0,
    offer: () => ({ startSeconds: 0, tokenSeconds: 0 }),
    async draft(begun, tokens) {
      let isRight = true;
      return Array.from({ length: tokens }, (_, index) => {
        isRight &&= random.next() < acceptanceRate;
        const right = text[begun.length + index] ?? 0;
        return isRight ? right : right === 0 ? 1 : 0;
      });
    },
    begin() {},
  };
}
