/** More than caches hold, and what is gone through between two looks at the clock. */
const [MEMORY, PIECE] = [2 ** 26, 2 ** 16];
const memory = new Uint8Array(MEMORY);
let at = 0;

/** Goes through memory for so many seconds, as a device does that computes its windows: caches keep nothing else. */
export function goThroughMemory(seconds: number): void {
  const due = performance.now() + 1000 * seconds;
  for (; performance.now() < due; at = (at + PIECE) % MEMORY) memory.fill(at, at, at + PIECE);
}
