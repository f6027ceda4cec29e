import type { ServerResponse } from 'node:http';
import type { BatchResult, GeneratedPiece } from '../runtime/batch/batch-engine.ts';
import { type CallReading, createCallReader, type ReadText } from '../text/tools/read-calls.ts';
import type { ToolCall } from '../text/tools/tool.ts';
import type { Asked } from './answer-form.ts';
import { ApiError, answeredError, STOPPED } from './api-error.ts';
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
  /** Called with each text that ended, also by an interrupt; `undefined`: with an error. */
  readonly onEnd: (result: BatchResult | undefined) => void;
}

/**
 * Generates the texts that a client asks for, and streams them or returns them as a whole.
 * @returns the body of the response; `undefined` if it was streamed
 * @throws ApiError before anything is sent; what goes wrong in a stream is told as its last event, and thrown
 */
export async function writeTexts(parts: WriteParts): Promise<object | undefined> {
  const { model, asked, signal, onEnd } = parts;
  const choices = startTexts(model, asked.request, signal);
  for (const { run } of choices) run.result.then(onEnd, () => onEnd(undefined));
  if (!asked.stream)
    return asked.form.whole(await Promise.all(choices.map((choice) => collect(choice, asked.reading))));
  await stream(parts, choices);
  return undefined;
}

async function collect({ index, run }: Choice, reading: CallReading | undefined): Promise<FinishedChoice> {
  const pieces: GeneratedPiece[] = [];
  for await (const piece of run) pieces.push(piece);
  const result = await run.result;
  const reader = createCallReader(reading);
  const [first, rest] = [reader.add(result.text), reader.finish()];
  return checked({ index, pieces, result, text: first.text + rest.text, calls: [...first.calls, ...rest.calls] });
}

/** @throws ApiError 503 for a text that was interrupted */
function checked(choice: FinishedChoice): FinishedChoice {
  if (choice.result.reason === 'interrupt') throw STOPPED;
  return choice;
}

async function stream({ asked, open, signal }: WriteParts, choices: readonly Choice[]): Promise<void> {
  const { form, request } = asked;
  const response = open();
  const out = openEventStream(response, signal);
  const finished: FinishedChoice[] = [];
  /** Of each choice: what finds its calls, and the characters that it has read, the text and the calls so far. */
  const states = choices.map(() => ({
    reader: createCallReader(asked.reading),
    read: 0,
    text: '',
    calls: [] as ToolCall[],
  }));
  const events = (index: number, { text, calls }: ReadText, piece?: GeneratedPiece) => {
    const state = states[index] as (typeof states)[number];
    state.text += text;
    state.calls.push(...calls);
    return [...form.more(index, text, piece), ...calls.flatMap((call) => form.call(index, call))];
  };
  try {
    await out.send(form.begin(request.prompts.reduce((sum, prompt) => sum + prompt.length, 0)));
    for await (const event of together(choices)) {
      const { index } = event;
      const state = states[index] as (typeof states)[number];
      if (event.kind === 'piece') {
        state.read += event.piece.text.length;
        await out.send(events(index, state.reader.add(event.piece.text), event.piece));
      } else {
        const { result } = event;
        const last = [state.reader.add(result.text.slice(state.read)), state.reader.finish()];
        const shown = last.flatMap((read) => events(index, read));
        const choice = checked({ index, result, pieces: [], text: state.text, calls: state.calls });
        finished.push(choice);
        await out.send([...shown, ...form.finish(choice)]);
      }
    }
    finished.sort((a, b) => a.index - b.index);
    await out.send(form.end(finished));
  } catch (error) {
    const told = signal.aborted && !(error instanceof ApiError) ? STOPPED : answeredError(error);
    if (!response.destroyed) response.write(eventText(form.fail(told)));
    throw error;
  } finally {
    out.end();
  }
}
