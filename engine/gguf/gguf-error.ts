import { InputError } from '../input/input-error.ts';

/** A malformed or unsupported GGUF file: the message says at which byte, what was found and what is allowed. */
export class GgufError extends InputError {
  /**
   * @param file name for messages
   * @param offset byte of the file at which the mistake begins
   * @param problem what was found; what is allowed
   */
  constructor(
    readonly file: string,
    readonly offset: number,
    problem: string,
  ) {
    super(`${file}: byte ${offset}`, problem);
  }
}

/** A text from a file, made safe for a message: quoted, on one line, at most 60 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text);
}
