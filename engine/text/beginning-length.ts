/** Length of the longest end of a text with which a mark begins, and that isn't all of it. */
export function beginningLength(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (mark.startsWith(text.slice(-length))) return length;
  return 0;
}
