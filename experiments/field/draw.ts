/** One in this many machines is drawn. */
const DRAWN = 3;

/** FNV-1a of a text's UTF-8 bytes, 32 bits (Fowler, Noll, Vo). */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** Whether efficiencies are fitted on a machine: a third of all, by a hash of its name. */
export function isDrawn(machine: string): boolean {
  return fnv1a(machine) % DRAWN === 0;
}
