import { InputError } from './input-error.ts';

/** JSON.parse with the file, line and column of a mistake. @throws InputError */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const position = /position (\d+)/.exec(message)?.[1];
    const before = text.slice(0, position === undefined ? text.length : Number(position)).split('\n');
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    const reason = message.replace(/ in JSON at position.*$/, '').replace(/, "[\s\S]*$/, '');
    throw new InputError(`${file}: ${place}`, `is not valid JSON (${reason})`);
  }
}
