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
  /** Texts that run at the same time; the others wait for them. */
  readonly atOnce: number;
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
  const { model, asked, atOnce, signal, onEnd } = parts;
  const choices = startTexts(model, asked.request, { atOnce, signal });
  for (const { run } of choices) run.result.then(onEnd, () => onEnd(undefined));
  if (!asked.stream)
    return asked.form.whole(await Promise.all(choices.map((choice) => collect(choice, asked.reading))));
  await stream(parts, choices);
  return undefined;
}

async function collect({ index, run }: Choice, reading: CallReading | undefined): Promise<FinishedChoice> {
  const pieces: GeneratedPiece[] = [];
  const answer = createAnswer(reading);
  for await (const piece of run) {
    pieces.push(piece);
    answer.add(piece.text, 1);
  }
  const result = await run.result;
  answer.end(result.text);
  return checked({ index, pieces, result, ...answer.read() });
}

/** An answer as it is read. */
interface Answer {
  /** @returns what the text adds to it */
  add(text: string, tokens: number): ReadText;
  /** Reads what is left of the whole text. @returns what it adds */
  end(text: string): readonly ReadText[];
  read(): Pick<FinishedChoice, 'reasoning' | 'text' | 'calls' | 'reasoningTokens'>;
}

function createAnswer(reading: CallReading | undefined): Answer {
  const reader = createCallReader(reading);
  let [taken, reasoning, text, reasoningTokens] = [0, '', '', 0];
  const calls: ToolCall[] = [];
  const kept = (read: ReadText): ReadText => {
    reasoning += read.reasoning;
    text += read.text;
    for (const part of read.calls) if (part.kind === 'end') calls.push(part.call);
    return read;
  };
  return {
    add(more, tokens) {
      taken += more.length;
      const wasThinking = reader.isThinking;
      const read = kept(reader.add(more));
      if (wasThinking || reader.isThinking) reasoningTokens += tokens;
      return read;
    },
    end: (whole) => [kept(reader.add(whole.slice(taken))), kept(reader.finish())],
    read: () => ({ reasoning, text, calls, reasoningTokens }),
  };
}

/** @throws ApiError 503 for a text that was interrupted */
function checked(choice: FinishedChoice): FinishedChoice {
  if (choice.result.reason === 'interrupt') throw STOPPED;
  return choice;
}

async function stream({ asked, open, signal }: WriteParts, choices: readonly Choice[]): Promise<void> {
  const { form, request } = asked;
  const response = open();
  const out = openEventStream(response, signal, { isLines: asked.isLines ?? false });
  const finished: FinishedChoice[] = [];
  const answers = choices.map(() => createAnswer(asked.reading));
  const events = (index: number, { reasoning, text, calls }: ReadText, piece?: GeneratedPiece) => [
    ...(reasoning === '' ? [] : form.think(index, reasoning, piece)),
    ...form.more(index, text, reasoning === '' ? piece : undefined),
    ...calls.flatMap((part) => form.call(index, part)),
  ];
  try {
    await out.send(form.begin(request.prompts.reduce((sum, prompt) => sum + prompt.length, 0)));
    for await (const event of together(choices)) {
      const { index } = event;
      const answer = answers[index] as Answer;
      if (event.kind === 'piece') await out.send(events(index, answer.add(event.piece.text, 1), event.piece));
      else {
        const { result } = event;
        const shown = answer.end(result.text).flatMap((read) => events(index, read));
        const choice = checked({ index, result, pieces: [], ...answer.read() });
        finished.push(choice);
        await out.send([...shown, ...form.finish(choice)]);
      }
    }
    finished.sort((a, b) => a.index - b.index);
    await out.send(form.end(finished));
  } catch (error) {
    const told = signal.aborted && !(error instanceof ApiError) ? STOPPED : answeredError(error);
    if (!response.destroyed) response.write(eventText(form.fail(told), asked.isLines));
    throw error;
  } finally {
    out.end();
  }
}
