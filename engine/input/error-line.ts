/** Longest message, characters: values from files are quoted in messages, and some files hold texts of megabytes. */
const LONGEST_MESSAGE = 1000;

/** An error's message as one line; the middle of a very long one is left out. */
export function errorLine(message: string): string {
  // Files and peers may put control characters into a message, which would reach the terminal.
  const line = message.replace(/\s*\p{Cc}+\s*/gu, ' ').trim();
  if (line.length <= LONGEST_MESSAGE) return line;
  return `${line.slice(0, LONGEST_MESSAGE / 2)} … ${line.slice(-LONGEST_MESSAGE / 2)}`;
}
