import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { type AskedEmbeddings, askEmbeddings, embed } from './embeddings.ts';

/** The server's model in the forms of Ollama's API, and embeddings in them. */

/** Ollama names a model with a tag. */
const TAG = ':latest';

/** Compares names as Ollama does, without regard to case. @throws ApiError 404 for another model than the served one */
export function checkName({ name: served }: Pick<ServedModel, 'name'>, name: string): void {
  const plain = (one: string): string => one.toLowerCase().replace(/:latest$/, '');
  if (plain(name) === plain(served)) return;
  const problem = `model "${name.slice(0, 100)}" not found; this server has "${served}", and no other can be loaded`;
  throw new ApiError(404, problem, 'model', 'model_not_found');
}

/** Facts about the model, as far as a server of one file knows them. */
export function ollamaFacts({ name, created, contextLength, file, hiddenSize, ...model }: ServedModel) {
  const { architecture, parameters, bytes, mix } = file;
  const details = {
    ...{ format: 'gguf', family: architecture, families: [architecture], parent_model: '' },
    ...{ parameter_size: shortCount(parameters), quantization_level: mix },
  };
  const modified = new Date(1000 * created).toISOString();
  const listed = {
    ...{ name: name + TAG, model: name + TAG, modified_at: modified, size: bytes, digest: '' },
    details,
  };
  const capabilities = [
    'completion',
    ...(model.callForm.isTaught ? ['tools'] : []),
    ...(model.reasoning === undefined ? [] : ['thinking']),
    ...(model.tokenizer.fillMarks === undefined ? [] : ['insert']),
  ];
  return {
    tags: { models: [listed] },
    running: { models: [{ ...listed, expires_at: modified, size_vram: 0, context_length: contextLength }] },
    shown: {
      ...{ modelfile: '', parameters: '', template: templateOf(model), details, capabilities, modified_at: modified },
      model_info: {
        ...{ 'general.architecture': architecture, 'general.basename': name, 'general.parameter_count': parameters },
        [`${architecture}.context_length`]: contextLength,
        [`${architecture}.embedding_length`]: hiddenSize,
      },
    },
  };
}

/** A count as Ollama writes it, such as 3.21B. */
function shortCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  return count >= 1e6 ? `${(count / 1e6).toFixed(2)}M` : `${Math.round(count / 1e3)}K`;
}

/** Ollama's template of a text between two others, by which editors see that a model can write it; else empty. */
function templateOf({ tokenizer }: Pick<ServedModel, 'tokenizer'>): string {
  const marks = tokenizer.fillMarks;
  if (marks === undefined) return '';
  const [prefix, suffix, middle] = [marks.prefix, marks.suffix, marks.middle].map((mark) => tokenizer.spell(mark));
  return `{{- if .Suffix }}${prefix}{{ .Prompt }}${suffix}{{ .Suffix }}${middle}{{- else }}{{ .Prompt }}{{- end }}`;
}

const NAMED = {
  shape: z.object({ model: z.string().optional(), name: z.string().optional(), stream: z.boolean().optional() }),
  harmless: ['verbose', 'insecure', 'username', 'password', 'options', 'system', 'template'],
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

/** Reads which model a request is about. @throws ApiError 404 for another than the served one */
export function readNamed(model: ServedModel, json: unknown): { readonly stream: boolean } {
  const body = readBody(NAMED, json);
  const name = body.model ?? body.name;
  if (name === undefined) throw new ApiError(400, 'model: is missing; give a name', 'model', 'invalid_value');
  checkName(model, name);
  return { stream: body.stream ?? true };
}

/** Reports of `POST /api/pull`, the last of which is the answer without a stream: the served model is here. */
export const PULLED = [{ status: 'pulling manifest' }, { status: 'success' }] as const;

/** Paths of Ollama's API that change which models there are. */
export const CHANGES = ['POST /api/create', 'POST /api/copy', 'POST /api/push', 'DELETE /api/delete'] as const;

/** @throws ApiError 501 always */
export function refuseChange(): never {
  const problem = 'this server has the one model that it was started with; start another server for another file';
  throw new ApiError(501, problem, null, 'not_supported_error');
}

const EMBED = {
  shape: z.object({
    model: z.string(),
    input: z.union([z.string(), z.array(z.string())]),
    truncate: z.boolean().optional(),
    dimensions: z.int().min(0).optional(),
  }),
  harmless: ['keep_alive', 'options'],
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

/**
 * `POST /api/embed`: texts that are longer than the context are cut, unless `truncate` is false, and vectors to their
 * first `dimensions` values.
 * @throws ApiError
 */
export async function askOllamaEmbeddings(model: ServedModel, json: unknown): Promise<AskedEmbeddings> {
  const { model: name, input, truncate, dimensions } = readBody(EMBED, json);
  checkName(model, name);
  if (input.length === 0) return { texts: [], format: 'float' };
  const asked = await askEmbeddings(model, { input }, { isCut: truncate ?? true });
  return dimensions ? { ...asked, dimensions } : asked;
}

const EMBED_ONE = {
  shape: z.object({ model: z.string(), prompt: z.string() }),
  harmless: EMBED.harmless,
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

/** `POST /api/embeddings`, the older path for one text. @throws ApiError */
export function askOllamaEmbedding(model: ServedModel, json: unknown): Promise<AskedEmbeddings> {
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
