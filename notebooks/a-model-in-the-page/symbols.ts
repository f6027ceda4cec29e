/** How the lesson shows a token: a byte's character where it has one that can be seen, otherwise its number. */
export function symbolOf(token: number): string {
  if (token === 0x20) return '␣';
  if (token === 0x0a) return '⏎';
  if (token > 0x20 && token < 0x7f) return String.fromCharCode(token);
  return token < 0x100 ? token.toString(16).toUpperCase().padStart(2, '0') : 'end';
}
