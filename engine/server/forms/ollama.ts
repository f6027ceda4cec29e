import { z } from 'zod';
import type { GeneratedPiece } from '../../runtime/batch/batch-engine.ts';
import type { TextForm } from '../../text/grammar/text-form.ts';
import type { Message } from '../../text/message.ts';
import type { CallReading } from '../../text/tools/read-calls.ts';
import { type Answered, type AnswerForm, type Asked, type ServerEvent, usageOf } from '../answer-form.ts';
import { ApiError, ollamaError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { type FinishedChoice, promptOf, samplingOf, type TextRequest } from '../text-request.ts';
import { filledBetween, filling } from './infill.ts';
import { shownTokens } from './logprobs.ts';
import { checkName } from './ollama-model.ts';
import * as parameters from './parameters.ts';
import { grammarOf } from './text-format.ts';
import { thinkingVariables } from './thinking.ts';
import { argumentsText, chatTools, offered, toolUse } from './tools.ts';

/** Texts in the forms of Ollama's API, which some editors speak alone. */

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
  logprobs: z.boolean().optional(),
  top_logprobs: parameters.topLogprobs.optional(),
  /** Seconds, or such as "5m", for which the model stays in memory; here it always does. */
  keep_alive: z.union([z.string(), z.number()]).optional(),
};
const HARMLESS = ['template', 'context', 'truncate', 'shift'];

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
    suffix: z.string().optional(),
  }),
  harmless: HARMLESS,
  unsupported: { images: { neutral: [[]], remedy: 'send text' } },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /api/chat`. Without messages it asks whether the model is loaded. @throws ApiError */
export async function askOllamaChat(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked | Answered> {
  const body = readBody(CHAT, json);
  checkName(model, body.model);
  if (body.messages.length === 0) return loaded(model, body, { message: { role: 'assistant', content: '' } });
  const { own, leftOut } = offered(body.tools, isFunctionTool);
  const use = toolUse(model, {
    tools: own.map((tool) => ({ ...tool.function, schema: tool.function.parameters })),
    ...{ choice: 'auto', several: true, form: formOf(body.format) },
  });
  const messages = readMessages(body.messages);
  const asked = await promptOf(model, { messages, ...use, variables: variablesOf(body.think) });
  return answerTo(model, body, { ...asked, prompts: [asked.prompt], leftOut, kind: 'chat', signal });
}

/**
 * Reads `POST /api/generate`: a message in the chat template, with `raw` a text to continue, with `suffix` the text before
 * another one. Without a prompt it asks whether the model is loaded.
 * @throws ApiError
 */
export async function askOllamaText(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked | Answered> {
  const body = readBody(GENERATE, json);
  checkName(model, body.model);
  const { prompt = '', system, suffix = '' } = body;
  if (prompt === '' && suffix === '') return loaded(model, body, { response: '' });
  const form = formOf(body.format);
  const plain = { form, reading: undefined, leftOut: [], kind: 'generate', signal } as const;
  if (suffix !== '') {
    const tokens = await filledBetween(model, { prefix: prompt, suffix });
    return answerTo(model, body, { ...plain, prompts: [tokens], isFilling: true });
  }
  if (body.raw === true || model.chatPrompt === undefined) {
    const tokens = await model.tokenizer.encodeInTurns(prompt, { addSpecial: true, parseSpecial: true });
    return answerTo(model, body, { ...plain, prompts: [tokens] });
  }
  const begin: readonly Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  const messages: readonly Message[] = [...begin, { role: 'user', content: prompt }];
  const reading = { form: undefined, names: [], isRequired: false };
  const asked = await promptOf(model, { messages, tools: [], form, reading, variables: variablesOf(body.think) });
  return answerTo(model, body, { ...plain, ...asked, prompts: [asked.prompt] });
}

/** The answer to a request without a text, with which clients load a model, or let it go with `keep_alive: 0`. */
function loaded(
  { name }: ServedModel,
  { keep_alive: kept }: { readonly keep_alive?: string | number | undefined },
  empty: object,
): Answered {
  const isLetGo = kept !== undefined && Number.parseFloat(String(kept)) === 0;
  const common = { model: name, created_at: new Date().toISOString() };
  return { body: { ...common, ...empty, done: true, done_reason: isLetGo ? 'unload' : 'load' } };
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
  /** Whether the text lies between two others. */
  readonly isFilling?: boolean;
  readonly signal: AbortSignal;
}

const PLACES = { text: 'format', tool: (index: number) => `tools[${index}].function.parameters` };

async function answerTo(
  model: ServedModel,
  body: Pick<z.output<typeof GENERATE.shape>, 'stream' | 'options' | 'logprobs' | 'top_logprobs'>,
  { prompts, form, reading, leftOut, kind, isFilling = false, signal }: AskedText,
): Promise<Asked> {
  const { stream = true, options: given = {}, logprobs = false, top_logprobs: top = 0 } = body;
  const { grammar, ignored } = await grammarOf(model, form, PLACES, signal);
  const { num_predict: most = -1 } = given;
  const topLogprobs = logprobs ? top : undefined;
  const unasked = top > 0 && !logprobs ? ['top_logprobs'] : [];
  return {
    ...{ stream, reading, ignored: [...leftOut, ...unasked, ...ignored], isLines: true },
    form: ollamaForm(model, kind, topLogprobs),
    request: {
      ...{ prompts, count: 1, tokens: most > 0 ? most : undefined, sampling: samplingOf(given), seed: given.seed },
      penalties: { frequency: given.frequency_penalty ?? 0, presence: given.presence_penalty ?? 0 },
      ...(isFilling ? filling(model, { stopTokens: new Set<number>() }) : {}),
      ...{ stops: parameters.stopList(given.stop), topLogprobs, grammar },
    },
  };
}

/** @param topLogprobs likely tokens to name with the probability of each; `undefined`: no probabilities */
function ollamaForm(
  { name, tokenizer }: ServedModel,
  kind: AskedText['kind'],
  topLogprobs: number | undefined,
): AnswerForm {
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
  const probabilities = (pieces: readonly GeneratedPiece[]): { readonly logprobs?: readonly object[] } => {
    if (topLogprobs === undefined) return {};
    const logprobs = shownTokens(tokenizer, pieces, topLogprobs).map(({ top_logprobs: top, ...token }) =>
      top.length === 0 ? token : { ...token, top_logprobs: top },
    );
    return logprobs.length === 0 ? {} : { logprobs };
  };
  const event = (content: string, thinking: string, more: object = {}, calls?: readonly object[]): ServerEvent => ({
    data: line({ ...said(content, thinking, calls), done: false, ...more }),
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
      const more = { ...ended(choices), ...probabilities(choice.pieces) };
      return line({ ...said(choice.text, choice.reasoning, written(choice)), ...more });
    },
    begin: () => [],
    think: (_index, reasoning, piece) => [event('', reasoning, probabilities(piece === undefined ? [] : [piece]))],
    more(_index, text, piece) {
      const more = probabilities(piece === undefined ? [] : [piece]);
      return text === '' && more.logprobs === undefined ? [] : [event(text, '', more)];
    },
    call: (_index, part) => (part.kind === 'end' ? [event('', '', {}, written({ calls: [part.call] }))] : []),
    finish: () => [],
    end: (choices) => [{ data: line({ ...said('', ''), ...ended(choices) }) }],
    fail: (error) => ({ data: ollamaError(error) }),
  };
}
