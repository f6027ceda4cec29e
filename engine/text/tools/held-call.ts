import { randomUUID } from 'node:crypto';
import type { ToolCall } from './tool.ts';

/** A part of a call as it is written. */
export type CallPart =
  | { readonly kind: 'begin'; readonly id: string; readonly name: string }
  /** The next piece of its arguments. */
  | { readonly kind: 'more'; readonly arguments: string }
  | { readonly kind: 'end'; readonly call: ToolCall };

export function newCallId(): string {
  return `call_${randomUUID().replaceAll('-', '')}`;
}

/** The parts of a call that is known as a whole. */
export function partsOfCall(call: ToolCall): readonly CallPart[] {
  const { id, name, arguments: own } = call;
  return [
    { kind: 'begin', id, name },
    { kind: 'more', arguments: own },
    { kind: 'end', call },
  ];
}

/** A call of which the text can be nothing else, as grammar/call-states.ts holds it. */
export interface HeldCall {
  /** @returns what is known of it now */
  add(text: string): CallPart[];
  /** The text behind its arguments; `undefined` until they end. */
  readonly rest: string | undefined;
}

/** Text of a held call up to its arguments. */
const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/;

/** Reads a held call as it grows. Arguments are given as they are written, but for white space between their signs. */
export function createHeldCall(): HeldCall {
  let head = '';
  let begun: { readonly id: string; readonly name: string } | undefined;
  const scan = createObjectScan();
  let written = '';
  let rest: string | undefined;
  return {
    get rest() {
      return rest;
    },
    add(text) {
      const parts: CallPart[] = [];
      let more = text;
      if (begun === undefined) {
        head += text;
        const found = HEAD.exec(head);
        if (found === null) return [];
        begun = { id: newCallId(), name: JSON.parse(found[1] as string) as string };
        parts.push({ kind: 'begin', ...begun });
        more = head.slice(found[0].length);
      }
      if (rest !== undefined) {
        rest += more;
        return parts;
      }
      const { kept, after } = scan(more);
      written += kept;
      if (kept !== '') parts.push({ kind: 'more', arguments: kept });
      rest = after;
      if (after !== undefined) parts.push({ kind: 'end', call: { ...begun, arguments: written } });
      return parts;
    },
  };
}

/** Finds the end of a JSON object piece by piece: what of a piece belongs to it, and what comes after it. */
function createObjectScan(): (text: string) => { readonly kept: string; readonly after: string | undefined } {
  let [depth, isString, isEscaped] = [0, false, false];
  return (text) => {
    let kept = '';
    for (let index = 0; index < text.length; index++) {
      const letter = text[index] as string;
      if (isString) {
        kept += letter;
        if (isEscaped) isEscaped = false;
        else if (letter === '\\') isEscaped = true;
        else if (letter === '"') isString = false;
        continue;
      }
      if (/\s/.test(letter)) continue;
      kept += letter;
      if (letter === '"') isString = true;
      else if (letter === '{' || letter === '[') depth++;
      else if (letter === '}' || letter === ']') depth--;
      if (depth === 0) return { kept, after: text.slice(index + 1) };
    }
    return { kept, after: undefined };
  };
}
