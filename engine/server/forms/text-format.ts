import { z } from 'zod';
import { InputError } from '../../input/input-error.ts';
import { type Grammar, GrammarError } from '../../text/grammar/grammar.ts';
import { SchemaError } from '../../text/grammar/schema-error.ts';
import type { TextForm } from '../../text/grammar/text-form.ts';
import { ApiError, STOPPED } from '../api-error.ts';
import type { ServedModel } from '../served-model.ts';

const KINDS = 'must be of type "text", "json_object" or "json_schema"';
const schema = z.strictObject({
  name: z.string().optional(),
  description: z.string().nullish(),
  schema: z.unknown().optional(),
  /** Whether a schema that can't be held in all its parts is refused. */
  strict: z.boolean().nullish(),
});
const plain = z.strictObject({ type: z.literal('text') });
const object = z.strictObject({ type: z.literal('json_object') });

/** `response_format` of chat completions and completions. */
export const responseFormat = z.discriminatedUnion(
  'type',
  [plain, object, z.strictObject({ type: z.literal('json_schema'), json_schema: schema })],
  KINDS,
);

/** `text` of responses. */
export const textFormat = z.strictObject({
  format: z
    .discriminatedUnion('type', [plain, object, schema.extend({ type: z.literal('json_schema') })], KINDS)
    .nullish(),
  verbosity: z.string().nullish(),
});

/** `output_config` of messages. */
export const outputConfig = z.strictObject({
  format: z.strictObject({ type: z.literal('json_schema'), schema: z.unknown().optional() }).nullish(),
  effort: z.string().nullish(),
});

/** Forms by their names in llama.cpp's server and vLLM: grammars (GBNF) and schemas. */
export const extraFormats = {
  ...{ grammar: z.string().optional(), guided_grammar: z.string().optional() },
  ...{ json_schema: z.unknown().optional(), guided_json: z.unknown().optional() },
};

/** The form that they ask for. @throws ApiError 400 for a schema that isn't JSON, or with a grammar */
export function extraForm({
  json_schema: schema,
  guided_json: guided,
  guided_grammar: guidedGrammar = '',
  grammar = guidedGrammar,
}: {
  readonly json_schema?: unknown;
  readonly guided_json?: unknown;
  readonly grammar?: string | undefined;
  readonly guided_grammar?: string | undefined;
}): TextForm | undefined {
  const given = schema ?? guided;
  if (grammar !== '') {
    if (given === undefined) return { gbnf: grammar };
    throw new ApiError(400, 'grammar: a text has a grammar or a schema; leave one out', 'grammar', 'invalid_value');
  }
  if (given === undefined) return undefined;
  if (typeof given !== 'string') return { schema: given };
  try {
    return { schema: JSON.parse(given) as unknown };
  } catch {
    const name = schema === undefined ? 'guided_json' : 'json_schema';
    throw new ApiError(400, `${name}: must be a JSON schema`, name, 'invalid_value');
  }
}

/** The form of a text that a format asks for; `undefined`: any. */
export function formOf(
  format:
    | z.output<typeof responseFormat | typeof textFormat.shape.format | typeof outputConfig.shape.format>
    | undefined,
): TextForm | undefined {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { schema: { type: 'object' } };
    case 'json_schema':
      return formOfSchema('json_schema' in format ? format.json_schema : format);
  }
}

function formOfSchema(given: { readonly schema?: unknown; readonly strict?: boolean | null | undefined }): TextForm {
  return { schema: given.schema ?? true, isStrict: given.strict === true };
}

/** The parameters with the schema of the text, and of a tool's arguments. */
export interface SchemaPlaces {
  readonly text: string;
  readonly tool: (index: number) => string;
}

/** Form that a text is held to, and the parameters that it isn't held to. */
export interface Held {
  /** `undefined`: it may be anything. */
  readonly grammar: Grammar | undefined;
  readonly ignored: readonly string[];
}

/**
 * The grammar of a form.
 * @throws ApiError 400 for schemas that aren't supported, and models whose texts have no end; 503 once the signal fires
 */
export async function grammarOf(
  { grammars }: ServedModel,
  form: TextForm | undefined,
  places: SchemaPlaces,
  signal: AbortSignal,
): Promise<Held> {
  if (form === undefined) return { grammar: undefined, ignored: [] };
  const where = form.gbnf !== undefined ? 'grammar' : form.schema === undefined ? 'tools' : places.text;
  const param = where.split('.')[0] as string;
  const refuse = (problem: string, code: string, path = where): ApiError =>
    new ApiError(400, `${path}: ${problem}`, path === where ? param : path, code);
  if (!grammars.canHold)
    throw refuse('this model has no token that ends a text, so texts can not be held to a form', 'unsupported_value');
  const placeOf = ({ path, tool }: SchemaError): string => {
    const place = tool === undefined ? places.text : places.tool(tool);
    return path === '' ? place : `${place}.${path}`;
  };
  try {
    const grammar = await grammars.of(form, signal);
    return { grammar, ignored: grammar.ignored.map(placeOf) };
  } catch (error) {
    if (error instanceof SchemaError) {
      const code = error.kind === 'unsupported' ? 'unsupported_parameter' : 'invalid_value';
      throw refuse(error.problem, code, placeOf(error));
    }
    if (error instanceof InputError) throw refuse(error.problem, 'invalid_value');
    if (error instanceof GrammarError) throw refuse(error.message, 'invalid_value');
    throw signal.aborted ? STOPPED : error;
  }
}
