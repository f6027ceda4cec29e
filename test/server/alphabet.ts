import { setTimeout } from 'node:timers/promises';
import { createHttpServer, type ServerOptions } from '../../engine/server/create-server.ts';
import type { ServedModel } from '../../engine/server/served-model.ts';
import type { RewindableModel } from '../../engine/text/conversation.ts';
import { createGrammars } from '../../engine/text/grammar/grammars.ts';
import type { FillMarks } from '../../engine/text/tokenizer.ts';
import { callFormOf } from '../../engine/text/tools/tool.ts';
import { createOneByOneEngine } from './one-by-one.ts';

/** The token that ends a text; all others are bytes. */
export const END = 256;
const LIKELY = 30;
const CONTEXT = 256;
/** A hidden state is the token's number and 1. */
const HIDDEN = 2;

/**
 * A model that everybody can predict, in place of a real one: after a capital letter every capital is as likely as
 * another; otherwise it writes the alphabet, and ends after `z`.
 * @param milliseconds of each token
 */
export function alphabetModel(milliseconds = 0): RewindableModel & { readonly evaluated: number } {
  let [position, evaluated] = [0, 0];
  return {
    contextLength: CONTEXT,
    get position() {
      return position;
    },
    get evaluated() {
      return evaluated;
    },
    rewind(to) {
      position = to;
    },
    async evaluate(tokens) {
      position += tokens.length;
      evaluated += tokens.length;
      if (milliseconds > 0) await setTimeout(milliseconds);
      const logits = new Float32Array(END + 1);
      const last = tokens.at(-1) as number;
      if (last >= 65 && last <= 90) logits.fill(LIKELY, 65, 91);
      else logits[last === 122 ? END : last >= 97 && last < 122 ? last + 1 : 97] = LIKELY;
      return logits;
    },
  };
}

/** A model that writes the same text after every prompt, byte by byte, and ends. */
export function scriptedModel(text: string): RewindableModel {
  const bytes = new TextEncoder().encode(text);
  let [position, next] = [0, 0];
  return {
    contextLength: CONTEXT,
    get position() {
      return position;
    },
    rewind(to) {
      [position, next] = [to, 0];
    },
    async evaluate(tokens) {
      position += tokens.length;
      const logits = new Float32Array(END + 1);
      logits[bytes[next++] ?? END] = LIKELY;
      return logits;
    },
  };
}

export interface AlphabetOptions extends Partial<Omit<ServerOptions, 'model'>> {
  /** A text that is written in place of the alphabet. */
  readonly script?: string;
  readonly reasoning?: ServedModel['reasoning'];
  /** Whether prompts end within thoughts. */
  readonly isThinking?: boolean;
  readonly milliseconds?: number;
  readonly chat?: boolean;
  readonly ring?: ServedModel['ring'];
  readonly fillMarks?: FillMarks;
}

/** A server on a free port of loopback, with that model. */
export async function alphabetServer({
  milliseconds = 0,
  chat = true,
  ring,
  script,
  reasoning,
  isThinking = false,
  fillMarks,
  ...options
}: AlphabetOptions = {}) {
  const lines: string[] = [];
  const encode = (text: string): number[] => [...new TextEncoder().encode(text)];
  const tokenizer: ServedModel['tokenizer'] = {
    ...{ size: END + 1, stops: new Set([END]), fillMarks },
    encodeInTurns: async (text: string) => encode(text),
    bytesOf: (token: number) => Uint8Array.of(...(token === END ? [] : [token])),
    spell: (token: number) => (token === END ? '</s>' : String.fromCharCode(token)),
    ...{ begin: undefined, end: END, addsBegin: false },
  };
  const language = alphabetModel(milliseconds);
  const written = script === undefined ? language : scriptedModel(script);
  const engine = createOneByOneEngine({ model: written, tokenizer });
  const model: ServedModel = {
    ...{
      name: 'alphabet',
      created: 1_700_000_000,
      file: { architecture: 'letters', parameters: 26, bytes: 104, mix: 'F32' },
      contextLength: CONTEXT,
      hiddenSize: HIDDEN,
      tokenizer,
      engine,
      grammars: createGrammars(tokenizer),
      ring,
    },
    callForm: callFormOf(''),
    chatTemplate: undefined,
    reasoning,
    chatPrompt: chat
      ? async (messages) => ({
          tokens: encode(messages.map(({ role, content }) => `${role}: ${content}\n`).join('')),
          isThinking,
        })
      : undefined,
  };
  const server = createHttpServer({
    ...{ model, key: undefined, mostTexts: 16, mostConnections: 32, mostBodyBytes: 100_000 },
    log: (line) => void lines.push(line),
    ...options,
  });
  const port = await server.listen('127.0.0.1', 0);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    model,
    language,
    routes: server.routes,
    /** The server's log. */
    lines,
    post: (path: string, body: unknown, init: RequestInit = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        ...init,
        headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string> | undefined) },
      }),
    stop: async (seconds = 1) => {
      await server.stop(seconds);
      await engine.close();
    },
  };
}
