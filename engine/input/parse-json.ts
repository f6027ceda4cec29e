import { InputError } from './input-error.ts';

/** JSON.parse with the file, line and column of a mistake. @throws InputError */
export function parseJson(given: string, file: string): unknown {
  const text = given.replace(/^\uFEFF/, '');
  const message = mistake(text);
  if (message === undefined) return JSON.parse(text);
  const before = text.slice(0, positionOf(message, text)).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  const reason = message.replace(/ in JSON at position.*$/, '').replace(/, (\.\.\.)?"[\s\S]*$/, '');
  throw new InputError(`${file}: ${place}`, `is not valid JSON (${reason})`);
}

/** What JSON.parse says about `text`, or undefined if it has nothing to say. */
function mistake(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Where the mistake is. V8 leaves the position out for unexpected tokens; it is then the last character of the shortest
 * beginning of the text that has such a token, found by bisection.
 */
function positionOf(message: string, text: string): number {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  if (!isToken(message)) return text.length;
  let sound = 0;
  let faulty = text.length;
  while (faulty - sound > 1) {
    const middle = Math.floor((sound + faulty) / 2);
    if (isToken(mistake(text.slice(0, middle)))) faulty = middle;
    else sound = middle;
  }
  return faulty - 1;
}

function isToken(message: string | undefined): boolean {
  return message?.startsWith('Unexpected token') ?? false;
}
