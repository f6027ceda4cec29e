import type { BatchResult, GeneratedPiece } from '../runtime/batch/batch-engine.ts';
import type { Choice } from './text-request.ts';

/** Event of a choice: a piece of its text, or its end. */
export type ChoiceEvent =
  | { readonly kind: 'piece'; readonly index: number; readonly piece: GeneratedPiece }
  | { readonly kind: 'end'; readonly index: number; readonly result: BatchResult };

/** The events of several choices as they come. The next piece of a choice is only taken when the last was read. */
export async function* together(choices: readonly Choice[]): AsyncGenerator<ChoiceEvent, void> {
  const [only] = choices;
  if (choices.length === 1 && only !== undefined) {
    yield* alone(only);
    return;
  }
  const next = new Map<AsyncIterator<ChoiceEvent>, Promise<Next>>();
  const pull = (events: AsyncIterator<ChoiceEvent>): void =>
    void next.set(
      events,
      events.next().then((step) => ({ events, step })),
    );
  for (const choice of choices) pull(alone(choice));
  while (next.size > 0) {
    const { events, step } = await Promise.race(next.values());
    if (step.done === true) next.delete(events);
    else {
      pull(events);
      yield step.value;
    }
  }
}

interface Next {
  readonly events: AsyncIterator<ChoiceEvent>;
  readonly step: IteratorResult<ChoiceEvent>;
}

async function* alone({ index, run }: Choice): AsyncGenerator<ChoiceEvent, void> {
  for await (const piece of run) yield { kind: 'piece', index, piece };
  yield { kind: 'end', index, result: await run.result };
}
