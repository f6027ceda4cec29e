import type { Reasoning } from './reasoning/reasoning.ts';
import { SLICE, type Slices } from './slices.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TemplateMessage } from './tools/tool-messages.ts';

/** Characters that mark places of a text while it goes through a template. */
export interface Signs {
  /** Within what must not become a control token. */
  readonly guard: string;
  /** At the end of an answer that is to be continued. */
  readonly end: string;
}

/** Noncharacters, U+FDD0 to U+FDEF: Unicode reserves them for use within a program. */
const NONCHARACTERS = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index));

const NONCHARACTER = /[\ufdd0-\ufdef]/g;

/** Two noncharacters that no text within a value has. */
export function* unusedSigns(value: unknown): Slices<Signs> {
  const unused = new Set(NONCHARACTERS);
  yield* withoutThoseOf(value, unused);
  const [guard = '', end = ''] = unused;
  return { guard, end };
}

function* withoutThoseOf(value: unknown, unused: Set<string>): Slices<void> {
  if (typeof value === 'string')
    for (let from = 0; from < value.length; from += SLICE) {
      for (const sign of value.slice(from, from + SLICE).match(NONCHARACTER) ?? []) unused.delete(sign);
      yield;
    }
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) {
      yield* withoutThoseOf(key, unused);
      yield* withoutThoseOf(one, unused);
    }
}

/** Puts signs into texts of strangers, so that no part of them becomes a control token. */
export interface Guard {
  messages(messages: readonly TemplateMessage[]): Slices<TemplateMessage[]>;
  /** The texts within a value. */
  values<Value>(value: Value): Slices<Value>;
}

/** @param reasoning marks that an assistant's messages keep, as the model wrote them */
export function guardOf(tokenizer: Pick<Tokenizer, 'guarded'>, sign: string, reasoning: Reasoning | undefined): Guard {
  const own = reasoning === undefined ? [] : [reasoning.begin, reasoning.end];
  const values = function* <Value>(value: Value, kept: readonly string[] = []): Slices<Value> {
    if (typeof value === 'string') return (yield* tokenizer.guarded(value, sign, kept)) as Value;
    if (typeof value !== 'object' || value === null) return value;
    const guarded: [string, unknown][] = [];
    for (const [key, one] of Object.entries(value)) {
      guarded.push([key, yield* values(one, kept)]);
      yield;
    }
    return (Array.isArray(value) ? guarded.map(([, one]) => one) : Object.fromEntries(guarded)) as Value;
  };
  return {
    values,
    *messages(messages) {
      const guarded: TemplateMessage[] = [];
      for (const { role, ...message } of messages)
        guarded.push({ role, ...(yield* values(message, role === 'assistant' ? own : [])) });
      return guarded;
    },
  };
}
