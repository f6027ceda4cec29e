/** Bytes in total, more than caches hold; bytes between two readings of the clock. */
const [MEMORY, PIECE] = [2 ** 26, 2 ** 16];
const memory = new Uint8Array(MEMORY);
let at = 0;

/** Reads memory for `seconds` seconds, like a device that computes its windows, so that caches keep nothing else. */
export function goThroughMemory(seconds: number): void {
  const due = performance.now() + 1000 * seconds;
  for (; performance.now() < due; at = (at + PIECE) % MEMORY) memory.fill(at, at, at + PIECE);
}
