/** (√5 − 1) / 2: its multiples, modulo 1, are spread the most evenly, however many are taken. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** 0 to count − 1 in an order of which any first part is spread evenly over them (three-distance theorem, Sós 1958). */
export function spreadOrder(count: number): number[] {
  const place = (index: number): number => (index * GOLDEN_RATIO) % 1;
  return Array.from({ length: count }, (_, index) => index).sort((a, b) => place(a) - place(b));
}
