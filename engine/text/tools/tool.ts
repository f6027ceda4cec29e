/** A function that a model may ask its caller to call. */
export interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON schema of its arguments, an object. */
  readonly parameters: unknown;
}

/** Call of a tool that a model asks for. */
export interface ToolCall {
  /** Name by which the result refers to it. */
  readonly id: string;
  readonly name: string;
  /** A JSON object. */
  readonly arguments: string;
}

/**
 * How a model writes calls. `tagged`: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Hermes and Qwen do;
 * `bare`: the object alone as the whole text, as Llama 3.1 does, or after a mark, as Mistral's and Phi's models do.
 */
export interface CallForm {
  readonly kind: 'tagged' | 'bare';
  /** The key of the arguments. */
  readonly key: 'arguments' | 'parameters';
  /** Whether the model's chat template describes the tools; otherwise a text in the system message does. */
  readonly isTaught: boolean;
  /** Whether it takes only ids of nine letters and digits, as those of Mistral's models do. */
  readonly hasShortIds: boolean;
}

export const CALL_TAGS = { begin: '<tool_call>', end: '</tool_call>' } as const;

/** The form that a chat template teaches; that of Hermes where it knows nothing of tools. */
export function callFormOf(template: string): CallForm {
  const isTaught = /\btools\b/.test(template);
  const hasShortIds = /\blength\s*!=\s*9\b/.test(template);
  const taught = { isTaught, hasShortIds };
  if (!isTaught || template.includes(CALL_TAGS.begin)) return { kind: 'tagged', key: 'arguments', ...taught };
  const key = /"parameters":/.test(template) ? 'parameters' : 'arguments';
  return { kind: 'bare', key, ...taught };
}
