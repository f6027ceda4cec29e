import type { ServerResponse } from 'node:http';
import type { GeneratedPiece } from '../runtime/batch/batch-engine.ts';
import type { Asked } from './answer-form.ts';
import { ApiError, answeredError, type ErrorForm, STOPPED } from './api-error.ts';
import { eventText, openEventStream } from './event-stream.ts';
import type { ServedModel } from './served-model.ts';
import { type Choice, type FinishedChoice, startTexts } from './text-request.ts';
import { together } from './together.ts';

export interface WriteParts {
  readonly model: ServedModel;
  readonly asked: Asked;
  /** Takes over the response, to stream it. */
  readonly open: () => ServerResponse;
  /** Fires when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
  readonly errors: ErrorForm;
}

export interface Written {
  readonly finished: readonly FinishedChoice[];
  /** The body of the response; `undefined` if it was streamed. */
  readonly body: object | undefined;
}

/**
 * Generates the texts that a client asks for, and streams them or returns them as a whole.
 * @throws ApiError before anything is sent; what goes wrong in a stream is told as its last event, and thrown
 */
export async function writeTexts(parts: WriteParts): Promise<Written> {
  const { model, asked, signal } = parts;
  const choices = startTexts(model, asked.request, signal);
  if (asked.stream) return { finished: await stream(parts, choices), body: undefined };
  const finished = await Promise.all(choices.map(collect));
  return { finished, body: asked.form.whole(finished) };
}

async function collect({ index, run }: Choice): Promise<FinishedChoice> {
  const pieces: GeneratedPiece[] = [];
  for await (const piece of run) pieces.push(piece);
  return checked({ index, pieces, result: await run.result });
}

/** @throws ApiError 503 for a text that was interrupted */
function checked(choice: FinishedChoice): FinishedChoice {
  if (choice.result.reason === 'interrupt') throw STOPPED;
  return choice;
}

async function stream({ asked, open, signal, errors }: WriteParts, choices: readonly Choice[]) {
  const { form, request } = asked;
  const response = open();
  const out = openEventStream(response, signal);
  const finished: FinishedChoice[] = [];
  /** Characters of each choice that have been sent. */
  const sent = choices.map(() => 0);
  try {
    await out.send(form.begin(request.prompts.reduce((sum, prompt) => sum + prompt.length, 0)));
    for await (const event of together(choices)) {
      const { index } = event;
      if (event.kind === 'piece') {
        sent[index] = (sent[index] as number) + event.piece.text.length;
        await out.send(form.more(index, event.piece.text, event.piece));
      } else {
        const { result } = event;
        finished.push(checked({ index, result, pieces: [] }));
        await out.send([...form.more(index, result.text.slice(sent[index]), undefined), ...form.finish(index, result)]);
      }
    }
    finished.sort((a, b) => a.index - b.index);
    await out.send(form.end(finished));
  } catch (error) {
    const data = errors(signal.aborted && !(error instanceof ApiError) ? STOPPED : answeredError(error));
    if (!response.destroyed) response.write(eventText('type' in data ? { event: 'error', data } : { data }));
    throw error;
  } finally {
    out.end();
  }
  return finished;
}
