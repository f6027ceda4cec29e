import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { TextForm } from '../../text/grammar/text-form.ts';
import type { CallReading } from '../../text/tools/read-calls.ts';
import type { Tool } from '../../text/tools/tool.ts';
import { ApiError } from '../api-error.ts';
import type { ServedModel } from '../served-model.ts';

/** A tool's name, in all APIs. */
export const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, 'must have 1 to 128 letters, digits, "_" and "-"');
/** A JSON object as text. */
export const argumentsText = z.string().refine(isObjectText, 'must be a JSON object as text');

const described = {
  name: toolName,
  description: z.string().nullish(),
  parameters: z.unknown().optional(),
  /** Arguments are held to the schema either way. */
  strict: z.boolean().nullish(),
};
const KIND = 'must be of type "function"; other tools are not supported';

/** `tools` of chat completions. */
export const chatTools = z.array(
  z.strictObject({ type: z.literal('function', KIND), function: z.strictObject(described) }),
);
/** `tools` of responses. */
export const responseTools = z.array(z.strictObject({ type: z.literal('function', KIND), ...described }));
/** `tools` of messages. */
export const messageTools = z.array(
  z.strictObject({
    type: z.literal('custom', 'must be of type "custom"; tools of the server are not supported').nullish(),
    ...{
      name: toolName,
      description: z.string().nullish(),
      input_schema: z.unknown().optional(),
      strict: z.boolean().nullish(),
    },
    cache_control: z.unknown().optional(),
  }),
);

const CHOICE = 'must be "auto", "none", "required" or a function';
const words = z.enum(['auto', 'none', 'required']);
/** `tool_choice` of chat completions, of responses and of messages. */
export const chatChoice = z.union(
  [words, z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) })],
  CHOICE,
);
export const responseChoice = z.union(
  [words, z.strictObject({ type: z.literal('function'), name: z.string() })],
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

/** What a request says of tools, whichever API it speaks. */
export interface ToolRequest {
  readonly tools: readonly {
    readonly name: string;
    readonly description?: string | null | undefined;
    readonly schema: unknown;
  }[];
  /** Or the name of the tool to call. */
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly several: boolean;
  /** What the text must be if it is no call. */
  readonly form: TextForm | undefined;
}

/** Of a tool that says nothing of them. */
const NO_ARGUMENTS = { type: 'object', properties: {} };

export interface ToolUse {
  /** Those that the model is told of. */
  readonly tools: readonly Tool[];
  readonly form: TextForm | undefined;
  readonly reading: CallReading;
}

/** Without tools only thoughts are looked for. */
const NO_CALLS: CallReading = { form: undefined, names: [], isRequired: false };

/**
 * What becomes of a request with tools: which the model is told of, what it may write, and how calls are found in it.
 * @throws ApiError 400 for names that occur twice, or that no tool has
 */
export function toolUse({ callForm }: ServedModel, { tools: given, choice, several, form }: ToolRequest): ToolUse {
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refuse('tools', `"${twice}" occurs twice; give each tool a name of its own`);
  if (typeof choice === 'object' && !names.includes(choice.name))
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
  const reading = { form: callForm, names: callable.map(({ name }) => name), isRequired };
  const calls = { tools: callable, form: callForm, isRequired, several: several && typeof choice !== 'object' };
  // Whether a text without tags is a call is only known at its end.
  const isHeld = isRequired || form !== undefined || callForm.kind === 'tagged';
  return { tools, form: isHeld ? { schema: isRequired ? undefined : form?.schema, calls } : undefined, reading };
}

function refuse(param: string, problem: string): ApiError {
  return new ApiError(400, `${param}: ${problem}`, param, 'invalid_value');
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
