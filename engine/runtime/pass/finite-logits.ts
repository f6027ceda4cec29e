/** Whether all values are finite numbers. A float64 sum of float32 values can't overflow, so it tells. */
export function allFinite(values: Float32Array): boolean {
  let [even, odd] = [0, 0];
  const pairs = values.length - (values.length % 2);
  for (let index = 0; index < pairs; index += 2) {
    even += values[index] as number;
    odd += values[index + 1] as number;
  }
  return Number.isFinite(even + odd + (values.length > pairs ? (values[pairs] as number) : 0));
}
