import type { RandomStream } from '../../../engine/input/random-stream.ts';
import { alphabetServer } from '../../server/alphabet.ts';
import { keptConnection } from '../kept-connection.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { type Json, jsonText, mutateJson } from '../mutate-json.ts';
import type { FuzzTarget } from '../target.ts';

const SCHEMA: Json = {
  ...{ type: 'object', required: ['a'], additionalProperties: false, $defs: { z: { type: ['null', 'number'] } } },
  properties: {
    a: { type: 'string', minLength: 1 },
    b: { type: 'array', items: { type: 'integer', minimum: -5, maximum: 1e6 }, maxItems: 3 },
    c: { oneOf: [{ const: 1 }, { enum: ['x', null] }] },
    d: { $ref: '#/$defs/z' },
  },
};
const COMMON: Json = { max_tokens: 3, temperature: 0.5, top_p: 0.9, top_k: 4, seed: 3, frequency_penalty: 0.1 };
const TOOL: Json = { type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA } };
const CALL: Json = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } };
const FORMAT: Json = { type: 'json_schema', json_schema: { name: 's', schema: SCHEMA } };

/** A body of each endpoint with most of what it may have. */
const BODIES: Readonly<Record<string, Json>> = {
  '/v1/completions': { ...COMMON, prompt: ['a', 'b'], n: 1, logprobs: 2, stop: ['q'], response_format: FORMAT },
  '/v1/chat/completions': {
    ...{ ...COMMON, tools: [TOOL], tool_choice: 'auto', logprobs: true, top_logprobs: 2 },
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'x' }] },
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'a', content: 'r' },
    ],
  },
  '/v1/responses': {
    ...{
      instructions: 'i',
      max_output_tokens: 3,
      text: { format: { type: 'json_schema', name: 's', schema: SCHEMA } },
    },
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'x' }] },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'r' },
    ],
  },
  '/v1/messages': {
    ...{
      model: 'alphabet',
      max_tokens: 3,
      system: 's',
      stop_sequences: ['q'],
      tools: [{ name: 'f', input_schema: SCHEMA }],
    },
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'r' }] },
    ],
  },
  '/v1/messages/count_tokens': { model: 'alphabet', messages: [{ role: 'user', content: 'x' }] },
  '/v1/embeddings': { input: ['a', 'b'], encoding_format: 'float', dimensions: 2 },
  '/tokenize': { content: 'a', add_special: true, parse_special: true },
};

/**
 * Requests of `hearth serve`, whose model writes the alphabet. An input is a path, a line break and a body. Every answer
 * must be a text, or an error of the client in the form of its API.
 */
export async function open(): Promise<FuzzTarget> {
  const { url, lines } = await alphabetServer({ mostTexts: 64, mostBodyBytes: 2 ** 20 });
  const send = keptConnection(Number(new URL(url).port));
  return {
    input: mutated,
    async read(input) {
      const at = input.indexOf(10);
      const path = new TextDecoder().decode(input.subarray(0, Math.max(0, at)));
      if (BODIES[path] === undefined) return 'no endpoint';
      const { status, text } = await send(path, input.subarray(at + 1));
      const complaints = lines.splice(0).filter((line) => !line.startsWith('an answer doesn’t follow'));
      if (complaints.length > 0) throw new Error(complaints.join('; '));
      if (status === 200) return 'answered';
      if (status >= 500) throw new Error(`status ${status}: ${text.slice(0, 200)}`);
      const { message } = (text.startsWith('{') ? JSON.parse(text).error : undefined) ?? {};
      const body = new TextDecoder().decode(input);
      // What a client wrote is quoted, whatever it is.
      const isWritten = (word: string): boolean => message.includes(word) && !body.includes(word);
      if (typeof message !== 'string' || message.includes('\n') || ['undefined', '[object', 'NaN'].some(isWritten))
        throw new Error(`not in the form of the API: ${text.slice(0, 200)}`);
      return `refused with ${status}`;
    },
  };
}

/** Up to three changes of what a body says, and sometimes some of its bytes. */
function mutated(random: RandomStream): Uint8Array {
  const path = random.pick(Object.keys(BODIES));
  let body = BODIES[path] as Json;
  for (let times = random.integer(0, 3); times > 0; times--)
    body = mutateJson(body, random.pick(Object.values(BODIES)), random);
  const encoder = new TextEncoder();
  let bytes: Uint8Array = encoder.encode(jsonText(body));
  if (random.integer(0, 4) === 0) bytes = mutateBytes(bytes, encoder.encode('{"type":"null"}'), random);
  return Buffer.concat([encoder.encode(`${path}\n`), bytes]);
}
