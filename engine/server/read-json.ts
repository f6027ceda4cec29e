import { setImmediate } from 'node:timers/promises';
import { ApiError } from './api-error.ts';

/** Bounds on what a text of JSON has, which keep the time in which it is read below some 20 ms. */
export const BOUNDS = {
  /** Nested lists and objects: far more than any schema has. */
  levels: 512,
  /** Lists, objects, and names of properties. */
  parts: 20_000,
  /** Items and properties: a list of as many tokens as a long context has. */
  values: 2 ** 17,
} as const;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPENING, CLOSING] = [new Set([0x5b, 0x7b]), new Set([0x5d, 0x7d])];

/**
 * The value that a client sends as JSON. A property `__proto__` is one as any other.
 * @throws ApiError 400 for a text that is no JSON, or beyond the bounds
 */
export function readJson(text: string): unknown {
  checkBounds(text);
  return parsed(text);
}

/** Characters of a body whose parsing takes a millisecond. */
const LONG_BODY = 2 ** 16;

/** As readJson, where checks of a long text, its parsing and what follows are turns of the event loop of their own. */
export async function readJsonInTurns(text: string): Promise<unknown> {
  checkBounds(text);
  const isLong = text.length > LONG_BODY;
  if (isLong) await setImmediate();
  const value = parsed(text);
  if (isLong) await setImmediate();
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(400, 'the body is not valid JSON');
  }
}

/** A MiB of brackets takes 0.3 s to parse, and what reads it may recurse. */
function checkBounds(text: string): void {
  let [levels, parts, values] = [0, 0, 0];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      for (index++; index < text.length; index++) {
        const inside = text.charCodeAt(index);
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) index++;
      }
    } else if (code === COMMA) values++;
    else if (code === COLON) parts++;
    else if (OPENING.has(code)) {
      parts++;
      levels++;
    } else if (CLOSING.has(code)) levels--;
    if (levels > BOUNDS.levels) throw refuse(`is nested deeper than ${BOUNDS.levels} levels`);
    if (parts > BOUNDS.parts) throw refuse(`has more than ${BOUNDS.parts} lists, objects and names of properties`);
    if (values > BOUNDS.values) throw refuse(`has more than ${BOUNDS.values} items and properties`);
  }
}

function refuse(problem: string): ApiError {
  return new ApiError(400, `the body ${problem}; send less at once`, null, 'too_large');
}
