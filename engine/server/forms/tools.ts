import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { TextForm } from '../../text/grammar/text-form.ts';
import type { CallReading } from '../../text/tools/read-calls.ts';
import type { Tool } from '../../text/tools/tool.ts';
import { ApiError } from '../api-error.ts';
import { readJson } from '../read-json.ts';
import type { ServedModel } from '../served-model.ts';
import { list } from './parameters.ts';

/** A tool's name, in all APIs. */
export const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, 'must have 1 to 128 letters, digits, "_" and "-"');
/** Tools of a request, and calls of a message: OpenAI's API allows 128 tools. */
export const MOST_TOOLS = 512;
/**
 * The arguments of an earlier call: a JSON object as text. An empty text stands for none; what isn't an object, such as
 * a text that was cut, is kept as the argument `text`, so that a conversation can go on.
 */
export const argumentsText = z
  .union(
    [
      z.string(),
      z.custom<object>((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
      z.null(),
    ],
    'must be a JSON object as text',
  )
  .optional()
  .transform((given): string => {
    if (given === undefined || given === null || given === '') return '{}';
    if (typeof given !== 'string') return JSON.stringify(given);
    return isObjectText(given) ? given : JSON.stringify({ text: given });
  });

const described = {
  name: toolName,
  description: z.string().nullish(),
  parameters: z.unknown().optional(),
  /** Arguments are held to the schema either way. */
  strict: z.boolean().nullish(),
};

/** A tool that runs on a server, or that only its own server describes: it is left out. */
const elsewhere = z.looseObject({ type: z.string('must be the kind of the tool') });
/** Then the complaint is the one about the other branch. */
const NOT_OWN = { path: ['type'], error: 'is a kind of this server', abort: true };
const isFunction = (one: { readonly type?: unknown }): boolean => one.type === 'function';

/** `tools` of chat completions. */
export const chatTools = list(
  z.union([
    z.looseObject({ type: z.literal('function'), function: z.looseObject(described) }),
    elsewhere.refine((one) => !isFunction(one), NOT_OWN),
  ]),
  MOST_TOOLS,
);
/** `tools` of responses. */
export const responseTools = list(
  z.union([
    z.looseObject({ type: z.literal('function'), ...described }),
    elsewhere.refine((one) => !isFunction(one), NOT_OWN),
  ]),
  MOST_TOOLS,
);
const isCustom = (one: { readonly type?: unknown }): boolean => one.type == null || one.type === 'custom';
/** `tools` of messages. */
export const messageTools = list(
  z.union([
    z.looseObject({
      ...{ type: z.literal('custom').nullish(), name: toolName, description: z.string().nullish() },
      ...{ input_schema: z.unknown().optional(), strict: z.boolean().nullish() },
    }),
    elsewhere.refine((one) => !isCustom(one), NOT_OWN),
  ]),
  MOST_TOOLS,
);

/** Tools of a list that this server can offer to a model, and the places of those that it leaves out. */
export function offered<Tool extends { readonly type?: unknown }, Own extends Tool>(
  tools: readonly Tool[] | undefined,
  isOwn: (tool: Tool) => tool is Own,
): { readonly own: readonly Own[]; readonly leftOut: readonly string[] } {
  const all = tools ?? [];
  return {
    own: all.filter(isOwn),
    leftOut: all.flatMap((tool, index) => (isOwn(tool) ? [] : [`tools[${index}]`])),
  };
}

const CHOICE = 'must be "auto", "none", "required" or a function';
const words = z.enum(['auto', 'none', 'required']);
/** `tool_choice` of chat completions, of responses and of messages. */
export const chatChoice = z.union(
  [words, z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) })],
  CHOICE,
);
/** A choice among tools, or of one that runs on a server: the model may choose as with `auto`, or must with `required`. */
const allowed = z
  .looseObject({ type: z.string(), mode: z.enum(['auto', 'required']).optional() })
  .refine(({ type }) => type !== 'function')
  .transform(({ mode }) => mode ?? ('auto' as const));
export const responseChoice = z.union(
  [words, z.strictObject({ type: z.literal('function'), name: z.string() }), allowed],
  CHOICE,
);
export const messageChoice = z
  .strictObject({
    type: z.enum(['auto', 'any', 'tool', 'none']),
    name: z.string().optional(),
    disable_parallel_tool_use: z.boolean().optional(),
  })
  .refine(({ type, name }) => type !== 'tool' || name !== undefined, {
    ...{ path: ['name'], error: 'is missing; give the name of a tool' },
  });

/** A request's parameters about tools, whichever API it speaks. */
export interface ToolRequest {
  readonly tools: readonly {
    readonly name: string;
    readonly description?: string | null | undefined;
    readonly schema: unknown;
  }[];
  /** Or the name of the tool to call. */
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly several: boolean;
  /** Required form of the text if it is no call. */
  readonly form: TextForm | undefined;
}

/** Parameters of a tool that declares none. */
const NO_ARGUMENTS = { type: 'object', properties: {} };

export interface ToolUse {
  /** Tools that the model is told of. */
  readonly tools: readonly Tool[];
  readonly form: TextForm | undefined;
  readonly reading: CallReading;
}

/** Without tools only thoughts are looked for. */
const NO_CALLS: CallReading = { form: undefined, names: [], isRequired: false };

/**
 * Treatment of a request with tools: which the model is told of, what it may write, and how calls are found in it.
 * @throws ApiError 400 for names that occur twice, or that no tool has
 */
export function toolUse({ callForm }: ServedModel, { tools: given, choice, several, form }: ToolRequest): ToolUse {
  const allNames = given.map(({ name }) => name);
  const seen = new Set<string>();
  const twice = allNames.find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) throw refuse('tools', `"${twice}" occurs twice; give each tool a name of its own`);
  if (typeof choice === 'object' && !allNames.includes(choice.name))
    throw refuse('tool_choice', `no tool has the name "${choice.name.slice(0, 100)}"`);
  if (choice === 'required' && given.length === 0) throw refuse('tool_choice', 'needs tools to choose from');
  if (given.length === 0 || choice === 'none') return { tools: [], form, reading: NO_CALLS };
  const tools = given.map(({ name, description, schema }): Tool => {
    return {
      name,
      description: description ?? undefined,
      parameters: isDeepStrictEqual(schema ?? {}, {}) ? NO_ARGUMENTS : schema,
    };
  });
  const isRequired = choice !== 'auto';
  const callable = typeof choice === 'object' ? tools.filter(({ name }) => name === choice.name) : tools;
  const calls = { tools: callable, form: callForm, isRequired, several: several && typeof choice !== 'object' };
  // Whether a text without tags is a call is only known at its end.
  const isHeld = isRequired || form !== undefined || callForm.kind === 'tagged';
  const isKnown = isRequired || (callForm.kind === 'tagged' && form?.gbnf === undefined);
  const names = callable.map(({ name }) => name);
  return {
    tools,
    form: isHeld ? { ...(isRequired ? {} : form), calls } : undefined,
    reading: { form: callForm, names, isRequired, isHeld: isHeld && isKnown },
  };
}

function refuse(param: string, problem: string): ApiError {
  return new ApiError(400, `${param}: ${problem}`, param, 'invalid_value');
}

function isObjectText(text: string): boolean {
  try {
    const value = readJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
