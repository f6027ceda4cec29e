import { InputError } from './input-error.ts';

/** Parses JSON. @throws InputError with the file, line and column of a syntax error */
export function parseJson(given: string, file: string): unknown {
  const text = given.replace(/^\uFEFF/, '');
  const message = syntaxError(text);
  if (message === undefined) return JSON.parse(text);
  const before = text.slice(0, positionOf(message, text)).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  const reason = message.replace(/ in JSON at position.*$/, '').replace(/, (\.\.\.)?"[\s\S]*$/, '');
  throw new InputError(`${file}: ${place}`, `is not valid JSON (${reason})`);
}

/** The message of JSON.parse about `text`; `undefined` if the text is valid. */
function syntaxError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Index of the syntax error. V8 omits the position of an unexpected token; the token then ends the shortest prefix of
 * the text that has the same error, which is found by bisection.
 */
function positionOf(message: string, text: string): number {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (!isToken(message)) return text.length;
  let valid = 0;
  let faulty = text.length;
  while (faulty - valid > 1) {
    const middle = Math.floor((valid + faulty) / 2);
    if (isToken(syntaxError(text.slice(0, middle)))) faulty = middle;
    else valid = middle;
  }
  return faulty - 1;
}

function isToken(message: string | undefined): boolean {
  return message?.startsWith('Unexpected token') ?? false;
}
