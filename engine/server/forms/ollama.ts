import { z } from 'zod';
import type { TextForm } from '../../text/grammar/text-form.ts';
import type { Message } from '../../text/message.ts';
import type { CallReading } from '../../text/tools/read-calls.ts';
import { type AnswerForm, type Asked, type ServerEvent, usageOf } from '../answer-form.ts';
import { ApiError, ollamaError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, type FinishedChoice, promptOf, samplingOf, type TextRequest } from '../text-request.ts';
import { askEmbeddings, embed } from './embeddings.ts';
import * as parameters from './parameters.ts';
import { grammarOf } from './text-format.ts';
import { thinkingVariables } from './thinking.ts';
import { argumentsText, chatTools, offered, toolUse } from './tools.ts';

/** Forms of Ollama's API, which some editors speak alone. */

const options = z.looseObject({
  ...{
    temperature: parameters.sampling.temperature,
    top_p: parameters.sampling.top_p,
    top_k: parameters.sampling.top_k,
  },
  ...{
    min_p: parameters.sampling.min_p,
    repeat_penalty: parameters.sampling.repeat_penalty,
    seed: parameters.seed.optional(),
  },
  ...{
    frequency_penalty: parameters.penalties.frequency_penalty,
    presence_penalty: parameters.penalties.presence_penalty,
  },
  /** −1 and −2: no limit. */
  num_predict: z.int().min(-2).optional(),
  stop: parameters.stops.optional(),
});

const common = {
  model: z.string(),
  stream: z.boolean().optional(),
  format: z.unknown().optional(),
  options: options.optional(),
  think: z.union([z.boolean(), z.string()]).optional(),
};
const HARMLESS = ['keep_alive', 'template', 'context', 'truncate', 'shift'];

const CHAT = {
  shape: z.object({
    ...common,
    messages: parameters.list(
      z.looseObject({
        ...{ role: z.string(), content: z.string().nullish(), thinking: z.string().nullish() },
        images: z.array(z.unknown()).max(0, 'are not supported; send text').nullish(),
        tool_calls: z
          .array(z.looseObject({ function: z.looseObject({ name: z.string(), arguments: argumentsText }) }))
          .nullish(),
        ...{ tool_name: z.string().nullish(), tool_call_id: z.string().nullish() },
      }),
      parameters.MOST_MESSAGES,
    ),
    tools: chatTools.optional(),
  }),
  harmless: HARMLESS,
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

const GENERATE = {
  shape: z.object({
    ...common,
    prompt: z.string().optional(),
    system: z.string().optional(),
    raw: z.boolean().optional(),
  }),
  harmless: HARMLESS,
  unsupported: {
    suffix: { neutral: [''], remedy: 'leave it out, since texts are only continued' },
    images: { neutral: [[]], remedy: 'send text' },
  },
} satisfies BodyRules<z.ZodObject>;

/** Ollama names a model with a tag. */
export const TAG = ':latest';

function checkName(model: ServedModel, name: string): void {
  checkModel(model, name.endsWith(TAG) ? name.slice(0, -TAG.length) : name);
}

/** Reads `POST /api/chat`. @throws ApiError */
export async function askOllamaChat(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(CHAT, json);
  checkName(model, body.model);
  const { own, leftOut } = offered(body.tools, isFunctionTool);
  const use = toolUse(model, {
    tools: own.map((tool) => ({ ...tool.function, schema: tool.function.parameters })),
    ...{ choice: 'auto', several: true, form: formOf(body.format) },
  });
  const messages = readMessages(body.messages);
  const asked = await promptOf(model, { messages, ...use, variables: variablesOf(body.think) });
  return answerTo(model, body, { ...asked, prompts: [asked.prompt], leftOut, kind: 'chat', signal });
}

/** Reads `POST /api/generate`: a message in the chat template or, with `raw`, a text to continue. @throws ApiError */
export async function askOllamaText(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(GENERATE, json);
  checkName(model, body.model);
  const { prompt = '', system } = body;
  const form = formOf(body.format);
  if (body.raw === true || model.chatPrompt === undefined) {
    const tokens = await model.tokenizer.encodeInTurns(prompt, { addSpecial: true, parseSpecial: true });
    const read = { prompts: [tokens], form, reading: undefined, leftOut: [] };
    return answerTo(model, body, { ...read, kind: 'generate', signal });
  }
  const begin: readonly Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  const messages: readonly Message[] = [...begin, { role: 'user', content: prompt }];
  const reading = { form: undefined, names: [], isRequired: false };
  const asked = await promptOf(model, { messages, tools: [], form, reading, variables: variablesOf(body.think) });
  return answerTo(model, body, { ...asked, prompts: [asked.prompt], leftOut: [], kind: 'generate', signal });
}

type ChatTool = z.output<typeof chatTools>[number];

function isFunctionTool(tool: ChatTool): tool is Extract<ChatTool, { readonly type: 'function' }> {
  return tool.type === 'function';
}

function variablesOf(think: boolean | string | undefined): Record<string, unknown> {
  if (think === undefined) return {};
  return thinkingVariables(typeof think === 'boolean' ? { enable_thinking: think } : { reasoning_effort: think });
}

function formOf(format: unknown): TextForm | undefined {
  if (format === undefined || format === '') return undefined;
  if (format === 'json') return { schema: { type: 'object' } };
  if (typeof format === 'object') return { schema: format };
  throw new ApiError(400, 'format: must be "json" or a JSON schema', 'format', 'invalid_value');
}

/** The messages; results of calls are those of the calls before them, in their order, unless they name them. */
function readMessages(given: z.output<typeof CHAT.shape>['messages']): Message[] {
  let waiting: string[] = [];
  return given.map(
    ({ role, content, thinking, tool_calls: calls, tool_name: name, tool_call_id: callId }, index): Message => {
      const text = content ?? '';
      if (role === 'tool')
        return { role, content: text, callId: callId ?? waiting.shift() ?? `call_${index}`, name: name ?? undefined };
      const own = (calls ?? []).map(({ function: called }, number) => ({ id: `call_${index}_${number}`, ...called }));
      waiting = own.map(({ id }) => id);
      return {
        ...{ role: parameters.roleOf(role, `messages[${index}].role`), content: text },
        ...(own.length > 0 ? { calls: own } : {}),
        ...(thinking == null ? {} : { reasoning: thinking }),
      };
    },
  );
}

interface AskedText {
  readonly prompts: TextRequest['prompts'];
  readonly form: TextForm | undefined;
  readonly reading: CallReading | undefined;
  readonly leftOut: readonly string[];
  readonly kind: 'chat' | 'generate';
  readonly signal: AbortSignal;
}

const PLACES = { text: 'format', tool: (index: number) => `tools[${index}].function.parameters` };

async function answerTo(
  model: ServedModel,
  {
    stream = true,
    options: given = {},
  }: { readonly stream?: boolean | undefined; readonly options?: z.output<typeof options> | undefined },
  { prompts, form, reading, leftOut, kind, signal }: AskedText,
): Promise<Asked> {
  const { grammar, ignored } = await grammarOf(model, form, PLACES, signal);
  const { num_predict: most = -1 } = given;
  return {
    ...{ stream, reading, ignored: [...leftOut, ...ignored], isLines: true },
    form: ollamaForm(model, kind),
    request: {
      ...{ prompts, count: 1, tokens: most > 0 ? most : undefined, sampling: samplingOf(given), seed: given.seed },
      penalties: { frequency: given.frequency_penalty ?? 0, presence: given.presence_penalty ?? 0 },
      ...{ stops: parameters.stopList(given.stop), topLogprobs: undefined, grammar },
    },
  };
}

function ollamaForm({ name }: ServedModel, kind: AskedText['kind']): AnswerForm {
  const start = performance.now();
  const line = (more: object): object => ({ model: name, created_at: new Date().toISOString(), ...more });
  const said = (content: string, thinking: string, calls: readonly object[] = []): object =>
    kind === 'chat'
      ? {
          message: {
            ...{ role: 'assistant', content, ...(thinking === '' ? {} : { thinking }) },
            ...(calls.length === 0 ? {} : { tool_calls: calls }),
          },
        }
      : { response: content, ...(thinking === '' ? {} : { thinking }) };
  const written = ({ calls }: Pick<FinishedChoice, 'calls'>): object[] =>
    calls.map((call) => ({ function: { name: call.name, arguments: JSON.parse(call.arguments) as unknown } }));
  const event = (content: string, thinking: string, calls?: readonly object[]): ServerEvent => ({
    data: line({ ...said(content, thinking, calls), done: false }),
  });
  /** Durations are in nanoseconds. */
  const ended = (choices: readonly FinishedChoice[]): object => {
    const { result } = choices[0] as FinishedChoice;
    const { prompt, generated } = usageOf(choices, 1);
    const nanoseconds = (seconds: number): number => Math.round(1e9 * seconds);
    return {
      ...{ done: true, done_reason: result.reason === 'length' ? 'length' : 'stop' },
      ...{
        total_duration: nanoseconds((performance.now() - start) / 1000),
        load_duration: 0,
        prompt_eval_count: prompt,
      },
      prompt_eval_duration: nanoseconds(result.firstTokenSeconds ?? 0),
      ...{ eval_count: generated, eval_duration: nanoseconds(result.laterSeconds) },
    };
  };
  return {
    whole(choices) {
      const choice = choices[0] as FinishedChoice;
      return line({ ...said(choice.text, choice.reasoning, written(choice)), ...ended(choices) });
    },
    begin: () => [],
    think: (_index, reasoning) => [event('', reasoning)],
    more: (_index, text) => (text === '' ? [] : [event(text, '')]),
    call: (_index, part) => (part.kind === 'end' ? [event('', '', written({ calls: [part.call] }))] : []),
    finish: () => [],
    end: (choices) => [{ data: line({ ...said('', ''), ...ended(choices) }) }],
    fail: (error) => ({ data: ollamaError(error) }),
  };
}

/** Facts about the model in the form of Ollama's API, as far as a server of one file knows them. */
export function ollamaFacts({ name, created, contextLength, callForm, reasoning }: ServedModel) {
  const details = {
    format: 'gguf',
    family: '',
    families: [],
    parameter_size: '',
    quantization_level: '',
    parent_model: '',
  };
  const modified = new Date(1000 * created).toISOString();
  const listed = { ...{ name: name + TAG, model: name + TAG, modified_at: modified, size: 0, digest: '' }, details };
  const capabilities = [
    'completion',
    ...(callForm.isTaught ? ['tools'] : []),
    ...(reasoning === undefined ? [] : ['thinking']),
  ];
  return {
    tags: { models: [listed] },
    running: { models: [{ ...listed, expires_at: modified, size_vram: 0, context_length: contextLength }] },
    shown: {
      ...{ modelfile: '', parameters: '', template: '', details, capabilities, modified_at: modified },
      model_info: { 'general.basename': name, 'general.context_length': contextLength },
    },
  };
}

const EMBED = {
  shape: z.object({ model: z.string(), input: z.union([z.string(), z.array(z.string()).min(1)]) }),
  harmless: [...HARMLESS, 'options', 'dimensions'],
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

/** `POST /api/embed`. @throws ApiError */
export function askOllamaEmbeddings(model: ServedModel, json: unknown) {
  const { model: name, input } = readBody(EMBED, json);
  checkName(model, name);
  return askEmbeddings(model, { input });
}

const EMBED_ONE = {
  shape: z.object({ model: z.string(), prompt: z.string() }),
  harmless: EMBED.harmless,
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

/** `POST /api/embeddings`, the older path for one text. @throws ApiError */
export function askOllamaEmbedding(model: ServedModel, json: unknown) {
  const { model: name, prompt } = readBody(EMBED_ONE, json);
  checkName(model, name);
  return askEmbeddings(model, { input: prompt });
}

export async function ollamaEmbedding(...given: Parameters<typeof embed>) {
  const { data } = await embed(...given);
  return { embedding: data[0]?.embedding };
}

export async function ollamaEmbed(...given: Parameters<typeof embed>) {
  const [model] = given;
  const { data, usage } = await embed(...given);
  return {
    model: model.name,
    embeddings: data.map(({ embedding }) => embedding),
    prompt_eval_count: usage.prompt_tokens,
  };
}
