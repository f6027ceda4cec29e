import { z } from 'zod';
import { type AnswerForm, type Asked, usageOf } from '../answer-form.ts';
import { ApiError, openAiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, type FinishedChoice, samplingOf } from '../text-request.ts';
import * as parameters from './parameters.ts';
import { extraForm, extraFormats, grammarOf } from './text-format.ts';
import { tokenRules } from './token-rules.ts';

/** Texts between two others, for models that know marks for that. */

export interface Surrounding {
  readonly prefix: string;
  readonly suffix: string;
  /** Other files of a project. */
  readonly files?: readonly { readonly filename: string; readonly text: string }[];
}

/** llama.cpp's name of a project. */
const PROJECT = 'myproject\n';

/**
 * The prompt with which a model writes the text between two others, as llama.cpp's server has it.
 * @throws ApiError 400 for a vocabulary without marks
 */
export async function filledBetween(
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  { prefix, suffix, files = [] }: Surrounding,
): Promise<number[]> {
  const marks = tokenizer.fillMarks;
  if (marks === undefined) {
    const problem = 'this model’s vocabulary has no marks of a text between two others; texts are only continued';
    throw new ApiError(400, `suffix: ${problem}`, 'suffix', 'unsupported_value');
  }
  const tokensOf = (text: string): Promise<number[]> => tokenizer.encodeInTurns(text);
  const { repository, file } = marks;
  const others: number[][] = [];
  if (files.length > 0 && repository !== undefined) others.push([repository, ...(await tokensOf(PROJECT))]);
  for (const { filename, text } of files)
    others.push(
      file === undefined
        ? await tokensOf(`\n\n--- snippet ---\n\n${text}`)
        : [file, ...(await tokensOf(`${filename}\n`)), ...(await tokensOf(text))],
    );
  return [
    ...(await tokenizer.encodeInTurns('', { addSpecial: 'begin' })),
    ...others.flat(),
    ...[marks.prefix, ...(await tokensOf(prefix))],
    ...[marks.suffix, ...(await tokensOf(suffix))],
    marks.middle,
  ];
}

const MOST_FILES = 1024;

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    ...{ input_prefix: z.string(), input_suffix: z.string(), prompt: z.string().optional() },
    input_extra: parameters
      .list(z.looseObject({ filename: z.string().optional(), text: z.string() }), MOST_FILES)
      .optional(),
    ...{ n_predict: parameters.tokensOrNone.optional(), max_tokens: parameters.tokensOrNone.optional() },
    ...{ seed: parameters.seed.optional(), stop: parameters.stops.optional(), stream: z.boolean().optional() },
    ...parameters.sampling,
    ...parameters.penalties,
    ...extraFormats,
  }),
  harmless: parameters.HARMLESS,
  unsupported: parameters.SAMPLERS,
} satisfies BodyRules<z.ZodObject>;

const PLACES = { text: 'json_schema', tool: (index: number) => `tools[${index}]` };

/** Reads `POST /infill`, as llama.cpp's server has it. @throws ApiError */
export async function askInfill(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  const files = (body.input_extra ?? []).map(({ filename = 'tmp', text }) => ({ filename, text }));
  const prefix = body.input_prefix + (body.prompt ?? '');
  const prompt = await filledBetween(model, { prefix, suffix: body.input_suffix, files });
  const { grammar, ignored } = await grammarOf(model, extraForm(body), PLACES, signal);
  return {
    ...{ ignored, stream: body.stream ?? false, reading: undefined, form: infillForm(model) },
    request: {
      ...{ prompts: [prompt], count: 1, tokens: body.n_predict ?? body.max_tokens, sampling: samplingOf(body) },
      ...filling(model, tokenRules(model, body)),
      penalties: { frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0 },
      ...{ seed: body.seed, stops: parameters.stopList(body.stop), topLogprobs: undefined, grammar },
    },
  };
}

/** Rules of tokens under which a text between two others also ends where a file does. */
export function filling<Rules extends { readonly stopTokens: ReadonlySet<number> }>(
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  rules: Rules,
): Rules {
  return { ...rules, stopTokens: new Set([...rules.stopTokens, ...(tokenizer.fillMarks?.ends ?? [])]) };
}

function infillForm({ name }: ServedModel): AnswerForm {
  const ended = (choices: readonly FinishedChoice[]): object => {
    const { result } = choices[0] as FinishedChoice;
    const { prompt, generated, cached } = usageOf(choices, 1);
    return {
      ...{ model: name, stop: true, truncated: false, tokens_predicted: generated, tokens_evaluated: prompt },
      ...{
        tokens_cached: cached,
        stop_type: result.reason === 'length' ? 'limit' : result.reason === 'stop' ? 'word' : 'eos',
      },
    };
  };
  return {
    whole: (choices) => ({ index: 0, content: choices[0]?.text ?? '', ...ended(choices) }),
    begin: () => [],
    think: () => [],
    more: (index, text) => (text === '' ? [] : [{ data: { index, content: text, stop: false } }]),
    call: () => [],
    finish: () => [],
    end: (choices) => [{ data: { index: 0, content: '', ...ended(choices) } }],
    fail: (error) => ({ data: openAiError(error) }),
  };
}
