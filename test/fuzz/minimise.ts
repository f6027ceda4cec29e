/**
 * A shorter input of the same fault: removes runs of bytes, long ones first, as long as the fault stays.
 * @param isFault judges a shortened input
 * @param seconds after which the shortest so far is good enough
 */
export async function minimise(
  input: Uint8Array,
  isFault: (input: Uint8Array) => Promise<boolean>,
  seconds: number,
): Promise<Uint8Array> {
  const end = performance.now() + 1000 * seconds;
  let shortest = input;
  for (let run = Math.ceil(input.length / 2); run >= 1; run = run === 1 ? 0 : Math.ceil(run / 2)) {
    for (let at = 0; at < shortest.length; ) {
      if (performance.now() > end) return shortest;
      const shorter = Uint8Array.from([...shortest.subarray(0, at), ...shortest.subarray(at + run)]);
      if (await isFault(shorter)) shortest = shorter;
      else at += run;
    }
  }
  return shortest;
}
