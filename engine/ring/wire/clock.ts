/** Seconds since this process began: only differences, and offsets between processes, mean anything. */
export function clock(): number {
  return performance.now() / 1000;
}
