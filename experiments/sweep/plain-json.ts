/**
 * JSON of plain data with what JSON lacks: maps, and numbers that are not finite. Used for settings that go to other
 * machines; equal values give equal text.
 */
const TAG = '$';

/** @throws TypeError for values that are not plain data, such as functions */
export function toPlainJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part instanceof Map) return { [TAG]: 'map', entries: [...part] };
    if (typeof part === 'number' && !Number.isFinite(part)) return { [TAG]: 'number', text: String(part) };
    if (typeof part === 'function' || typeof part === 'bigint') throw new TypeError(`${typeof part} is not plain data`);
    return part;
  });
}

export function fromPlainJson(text: string): unknown {
  return JSON.parse(text, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || !(TAG in part)) return part;
    if ('entries' in part) return new Map(part.entries as [unknown, unknown][]);
    return 'text' in part ? Number(part.text) : part;
  });
}
