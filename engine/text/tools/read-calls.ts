import { randomUUID } from 'node:crypto';
import { CALL_TAGS, type CallForm, type ToolCall } from './tool.ts';

/** A text without the calls in it, and these. */
export interface ReadText {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** Finds calls in a text as it grows. What may be one is held back. */
export interface CallReader {
  add(text: string): ReadText;
  /** The rest. A call that isn't complete is left out. */
  finish(): ReadText;
}

export interface CallReading {
  readonly form: Pick<CallForm, 'kind'>;
  /** Names of the tools. */
  readonly names: readonly string[];
  /** Whether the text can be nothing but calls. */
  readonly isRequired: boolean;
}

/** @param reading `undefined`: there are no tools, and the text is only text */
export function createCallReader(reading: CallReading | undefined): CallReader {
  if (reading === undefined) return { add: (text) => ({ text, calls: [] }), finish: () => ({ text: '', calls: [] }) };
  return reading.form.kind === 'tagged' ? taggedReader(reading) : bareReader(reading);
}

function taggedReader({ names }: CallReading): CallReader {
  const { begin, end } = CALL_TAGS;
  let held = '';
  let isInside = false;
  return {
    add(more) {
      held += more;
      let text = '';
      const calls: ToolCall[] = [];
      for (;;) {
        const at = held.indexOf(isInside ? end : begin);
        if (at < 0) break;
        const before = held.slice(0, at);
        const found = isInside ? callsIn(before, names) : [];
        // What is between the tags and no call of a tool is shown as it is.
        if (isInside && found.length === 0) text += `${begin}${before}${end}`;
        else if (!isInside && (calls.length === 0 || before.trim() !== '')) text += before;
        calls.push(...found);
        held = held.slice(at + (isInside ? end : begin).length);
        isInside = !isInside;
      }
      if (isInside) return { text, calls };
      const kept = beginningLength(held, begin);
      const shown = held.slice(0, held.length - kept);
      held = held.slice(held.length - kept);
      return { text: text + shown, calls };
    },
    finish() {
      const rest = isInside ? '' : held;
      held = '';
      return { text: rest, calls: [] };
    },
  };
}

/**
 * What models write before calls, where it isn't a control token, which texts don't show: Mistral's, Llama 3.1's and
 * Phi 4's.
 */
const MARKS = ['[TOOL_CALLS]', '<|python_tag|>', '<|tool_call|>'] as const;
const LAST_MARK = '<|/tool_call|>';

/** Whether a text may turn out to be calls. */
function mayBeCalls(text: string): boolean {
  const begin = text.trimStart();
  return /^(?:[{[]|$)/.test(begin) || MARKS.some((mark) => begin.startsWith(mark) || mark.startsWith(begin));
}

/** The whole text is a call, a list of calls, or text, which begins with neither a bracket nor a mark. */
function bareReader({ names, isRequired }: CallReading): CallReader {
  let held = '';
  let isText = false;
  return {
    add(more) {
      if (isText) return { text: more, calls: [] };
      held += more;
      if (isRequired || mayBeCalls(held)) return { text: '', calls: [] };
      isText = true;
      return { text: held, calls: [] };
    },
    finish() {
      if (isText) return { text: '', calls: [] };
      const calls = bareCalls(held, names);
      return { text: calls.length > 0 || isRequired ? '' : held, calls };
    },
  };
}

/**
 * The calls of a whole text: one, a list, several with `;` between them (Llama 3.1), or each after a mark, also as its
 * name and its arguments (Mistral since 2025); none if it is something else.
 */
function bareCalls(text: string, names: readonly string[]): ToolCall[] {
  const trimmed = text.trim();
  const mark = MARKS.find((one) => trimmed.startsWith(one)) ?? '';
  const unmarked = trimmed.slice(mark.length, trimmed.endsWith(LAST_MARK) ? -LAST_MARK.length : undefined);
  const alone = callsIn(unmarked, names);
  if (alone.length > 0) return alone;
  const parts = unmarked
    .split(new RegExp(MARKS.map(escaped).join('|')))
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const calls = parts.map((part) => {
    const [, name, given] = /^([\w.-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(\{.*\})$/s.exec(part) ?? [];
    if (name !== undefined) return callsIn(`{"name":"${name}","arguments":${given}}`, names);
    const whole = callsIn(part, names);
    return whole.length > 0 ? whole : callsIn(`[${part.replaceAll(/\}\s*;\s*\{/g, '},{')}]`, names);
  });
  return calls.every((some) => some.length > 0) ? calls.flat() : [];
}

function escaped(text: string): string {
  return text.replaceAll(/[[\]|]/g, '\\$&');
}

/** The calls that a JSON text consists of; none if it is something else. */
function callsIn(text: string, names: readonly string[]): ToolCall[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  const calls = (Array.isArray(value) ? value : [value]).map((one: unknown) => {
    if (!isObject(one)) return undefined;
    const { name, arguments: own = one.parameters } = one;
    if (typeof name !== 'string' || !names.includes(name) || !isObject(own)) return undefined;
    return { id: `call_${randomUUID().replaceAll('-', '')}`, name, arguments: JSON.stringify(own) };
  });
  return calls.every((call) => call !== undefined) ? calls : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Length of the longest end of a text with which a tag begins. */
function beginningLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (tag.startsWith(text.slice(-length))) return length;
  return 0;
}
