/** The value furthest from zero among `count`, with its sign. */
export function extreme(values: Float32Array, from: number, count: number): number {
  let found = 0;
  for (let index = from; index < from + count; index++) {
    const value = values[index] as number;
    if (Math.abs(value) > Math.abs(found)) found = value;
  }
  return found;
}
