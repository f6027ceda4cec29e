import { beginningLength } from '../beginning-length.ts';
import { createReasoningReader } from '../reasoning/read-reasoning.ts';
import { type OpenedReasoning, THINK } from '../reasoning/reasoning.ts';
import { type CallPart, createHeldCall, type HeldCall, newCallId, partsOfCall } from './held-call.ts';
import { CALL_TAGS, type CallForm, type ToolCall } from './tool.ts';

/** A text without thoughts and calls, and these. */
export interface ReadText extends ReadCalls {
  readonly reasoning: string;
}

interface ReadCalls {
  readonly text: string;
  /** Calls, each of which ends before the next one begins; the last one may lack its end. */
  readonly calls: readonly CallPart[];
}

/** Finds thoughts and calls in a text as it grows. What may be one is held back. */
export interface CallReader {
  /** Whether it is within thoughts. */
  readonly isThinking: boolean;
  add(text: string): ReadText;
  /** The rest. A call that isn't complete has no end, or is left out as a whole. */
  finish(): ReadText;
}

export interface CallReading {
  /** `undefined`: no calls are looked for. */
  readonly form: Pick<CallForm, 'kind'> | undefined;
  /** Names of the tools. */
  readonly names: readonly string[];
  /** Whether the text can be nothing but calls. */
  readonly isRequired: boolean;
  /** Whether calls are held to their form, so that their arguments can be given as they are written. Default: false. */
  readonly isHeld?: boolean | undefined;
  /** Default: the most common marks, which the text itself begins. */
  readonly reasoning?: OpenedReasoning | undefined;
}

/**
 * Calls are looked for in the answer alone: those that a model only thinks of are thoughts.
 * @param reading `undefined`: the text is only text
 */
export function createCallReader(reading: CallReading | undefined): CallReader {
  if (reading === undefined)
    return {
      isThinking: false,
      add: (text) => ({ reasoning: '', text, calls: [] }),
      finish: () => ({ reasoning: '', text: '', calls: [] }),
    };
  const thoughts = createReasoningReader(reading.reasoning ?? { ...THINK, isOpened: false });
  const answer = answerReader(reading);
  return {
    get isThinking() {
      return thoughts.isThinking;
    },
    add(more) {
      const { reasoning, text } = thoughts.add(more);
      return { reasoning, ...answer.add(text) };
    },
    finish() {
      const { reasoning, text } = thoughts.finish();
      const [last, rest] = [answer.add(text), answer.finish()];
      return { reasoning, text: last.text + rest.text, calls: [...last.calls, ...rest.calls] };
    },
  };
}

interface AnswerReader {
  add(text: string): ReadCalls;
  finish(): ReadCalls;
}

function answerReader(reading: CallReading): AnswerReader {
  switch (reading.form?.kind) {
    case 'tagged':
      return taggedReader(reading);
    case 'bare':
      return bareReader(reading);
    case undefined:
      return { add: (text) => ({ text, calls: [] }), finish: () => ({ text: '', calls: [] }) };
  }
}

/** Text that may follow the tag of a call; before anything else, the tag is only mentioned. */
const CALL_BEGINS = /^\s*(?:[{[]|$)/;
const HELD_BEGINS = /^\s*\{/;

function taggedReader({ names, isHeld = false }: CallReading): AnswerReader {
  const { begin, end } = CALL_TAGS;
  let held = '';
  let isInside = false;
  /** The held call that is under way, up to its tag at the end. */
  let call: HeldCall | undefined;
  let hasCalls = false;
  const shownBefore = (text: string): string => (hasCalls && text.trim() === '' ? '' : text);
  return {
    add(more) {
      held += more;
      let text = '';
      const calls: CallPart[] = [];
      for (;;) {
        if (isHeld && isInside && call === undefined && HELD_BEGINS.test(held)) {
          call = createHeldCall();
          hasCalls = true;
        }
        if (call !== undefined) {
          calls.push(...call.add(held));
          held = '';
          const { rest = '' } = call;
          const at = rest.indexOf(end);
          if (at < 0) return { text, calls };
          [call, isInside, held] = [undefined, false, rest.slice(at + end.length)];
        }
        if (isInside && !CALL_BEGINS.test(held)) {
          text += begin;
          isInside = false;
        }
        const at = held.indexOf(isInside ? end : begin);
        if (at < 0) break;
        const before = held.slice(0, at);
        const found = isInside ? callsIn(before, names) : [];
        // Text between the tags that is no call of a tool is shown as it is.
        if (isInside && found.length === 0) text += `${begin}${before}${end}`;
        else if (!isInside) text += shownBefore(before);
        calls.push(...found.flatMap(partsOfCall));
        hasCalls ||= found.length > 0;
        held = held.slice(at + (isInside ? end : begin).length);
        isInside = !isInside;
      }
      if (isInside) return { text, calls };
      const kept = beginningLength(held, begin);
      const shown = held.slice(0, held.length - kept);
      // White space after a call may stand before another.
      if (shownBefore(shown) === '') return { text, calls };
      held = held.slice(held.length - kept);
      return { text: text + shown, calls };
    },
    finish() {
      const rest = held;
      held = '';
      if (call !== undefined) return { text: '', calls: [] };
      if (!isInside) return { text: shownBefore(rest), calls: [] };
      // A model may end its turn in place of the tag.
      const calls = callsIn(rest, names).flatMap(partsOfCall);
      return { text: calls.length > 0 || isCut(rest) ? '' : `${begin}${rest}`, calls };
    },
  };
}

/** Whether a JSON text lacks its end. */
function isCut(text: string): boolean {
  const unquoted = text.replaceAll(/"(?:[^"\\]|\\.)*(?:"|$)/gs, '');
  const count = (letters: RegExp): number => unquoted.match(letters)?.length ?? 0;
  return count(/[{[]/g) > count(/[}\]]/g) || text.trim() === '';
}

/** Marks that models write before calls: Mistral's, Llama 3.1's and Phi 4's. */
export const CALL_MARKS = ['[TOOL_CALLS]', '<|python_tag|>', '<|tool_call|>'] as const;
/** Marks within and after calls: Mistral's and Phi 4's. */
export const CALL_PART_MARKS = ['[ARGS]', '[CALL_ID]', '[/TOOL_CALLS]', '<|/tool_call|>'] as const;
const LAST_MARKS = ['<|/tool_call|>', '[/TOOL_CALLS]'] as const;

/** Whether a text may turn out to be calls. */
function mayBeCalls(text: string): boolean {
  const begin = text.trimStart();
  return /^(?:[{[]|$)/.test(begin) || CALL_MARKS.some((mark) => begin.startsWith(mark) || mark.startsWith(begin));
}

/** The whole text is a call, a list of calls, or text, which begins with neither a bracket nor a mark. */
function bareReader({ names, isRequired, isHeld = false }: CallReading): AnswerReader {
  if (isRequired && isHeld) {
    const call = createHeldCall();
    return { add: (text) => ({ text: '', calls: call.add(text) }), finish: () => ({ text: '', calls: [] }) };
  }
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
      const calls = bareCalls(held, names).flatMap(partsOfCall);
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
  const mark = CALL_MARKS.find((one) => trimmed.startsWith(one)) ?? '';
  const last = LAST_MARKS.find((one) => trimmed.endsWith(one)) ?? '';
  const unmarked = trimmed.slice(mark.length, trimmed.length - last.length);
  const alone = callsIn(unmarked, names);
  if (alone.length > 0) return alone;
  const parts = unmarked
    .split(new RegExp(CALL_MARKS.map(escaped).join('|')))
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
    return { id: newCallId(), name, arguments: JSON.stringify(own) };
  });
  return calls.every((call) => call !== undefined) ? calls : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
