/** Bytes that print as themselves in Latin-1: the others would be invisible or break lines in a vocabulary. */
const PRINTABLE: readonly (readonly [number, number])[] = [
  [0x21, 0x7e],
  [0xa1, 0xac],
  [0xae, 0xff],
];

/**
 * GPT-2's alphabet: the character that represents each byte in the tokens of a byte-level BPE. Printable bytes
 * represent themselves, the 68 others are U+0100 … U+0143 in order; a space is Ġ, a line feed Ċ.
 * @returns 256 characters; that of byte b is at index b
 */
export function byteAlphabet(): string[] {
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = PRINTABLE.some(([first, last]) => byte >= first && byte <= last);
    return String.fromCharCode(printable ? byte : 0x100 + others++);
  });
}
