import type { Routing } from './routing.ts';

/** Experts that a byte can number; others take two, the lower byte first. */
export const EXPERTS_OF_A_BYTE = 256;

/** A routing as the text that `parseRoutings` reads. */
export function routingText(name: string, routing: Routing): string {
  return `${JSON.stringify(routingRecord(name, routing), null, 1)}\n`;
}

/** The same as an object, which other JSON may have among its keys. */
export function routingRecord(name: string, { tokens, layers, experts, used, chosen }: Routing): object {
  const bytes = experts <= EXPERTS_OF_A_BYTE ? Uint8Array.from(chosen) : littleEndian(chosen);
  let characters = '';
  for (const byte of bytes) characters += String.fromCharCode(byte);
  const record = { layers, experts, topk: used, promptTokens: 0, decodeTokens: tokens, ids: btoa(characters) };
  return { traces: { [name]: record } };
}

function littleEndian(numbers: Uint16Array): Uint8Array {
  const bytes = new Uint8Array(2 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.set([number & 255, number >> 8], 2 * index);
  return bytes;
}
