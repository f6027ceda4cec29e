// Decimal digits of doubles, exactly: of two that are as near the one with an even last digit, as in Python (JavaScript
// takes the larger one).

const BITS = new DataView(new ArrayBuffer(8));

/** A finite double of 0 or more as `mantissa · 2^exponent`. */
function parts(size) {
  BITS.setFloat64(0, size);
  const all = BITS.getBigUint64(0);
  const [fraction, exponent] = [all & ((1n << 52n) - 1n), Number(all >> 52n)];
  return exponent === 0 ? [fraction, -1074] : [fraction | (1n << 52n), exponent - 1075];
}

/** A quotient of positive ints, to the nearest int. */
function nearest(above, below) {
  const [quotient, rest] = [above / below, 2n * (above % below)];
  return rest > below || (rest === below && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

/** `size · 10^power` to the nearest int. */
function scaled(size, power) {
  const [mantissa, exponent] = parts(size);
  const [above, below] = [exponent > 0 ? mantissa << BigInt(exponent) : mantissa, 1n << BigInt(Math.max(0, -exponent))];
  const ten = 10n ** BigInt(Math.abs(power));
  return power >= 0 ? nearest(above * ten, below) : nearest(above, below * ten);
}

/** Digits of a double of 0 or more with so many decimals. */
function fixed(size, decimals) {
  const digits = String(scaled(size, decimals)).padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** @returns a double of 0 or more as so many digits, and the exponent of the first one */
function significant(size, digits) {
  if (size === 0) return ['0'.repeat(digits), 0];
  const exponent = Number(size.toExponential().split('e')[1]);
  const found = String(scaled(size, digits - 1 - exponent));
  return found.length > digits ? [found.slice(0, digits), exponent + 1] : [found, exponent];
}

/** A double to so many decimals, or to tens and hundreds where there are fewer than none. */
function rounded(value, decimals) {
  if (!Number.isFinite(value) || decimals > 340) return value;
  const size = Number(`${scaled(Math.abs(value), Math.max(decimals, -340))}e${-decimals}`);
  return value < 0 || Object.is(value, -0) ? -size : size;
}

/** An int to tens, hundreds and so on. */
function roundedInt(value, tens) {
  if (tens > String(value).length) return 0n;
  const ten = 10n ** BigInt(tens);
  const size = nearest(value < 0n ? -value : value, ten) * ten;
  return value < 0n ? -size : size;
}

/** `value^exponent` of a double and an int that is not large, to the nearest double. */
function power(value, exponent) {
  const [mantissa, binary] = parts(Math.abs(value));
  const times = BigInt(Math.abs(exponent));
  const size = quotient(
    exponent < 0 ? 1n : mantissa ** times,
    exponent < 0 ? mantissa ** times : 1n,
    binary * exponent,
  );
  return value < 0 && times % 2n === 1n ? -size : size;
}

/** `above / below · 2^binary` to the nearest double. */
function quotient(above, below, binary) {
  // The quotient has 64 bits at least; a last bit that stands for the rest keeps it from a tie.
  const shift = 64 + bitsOf(below) - bitsOf(above);
  const [top, bottom] = shift > 0 ? [above << BigInt(shift), below] : [above, below << BigInt(-shift)];
  const whole = (top / bottom) * 2n + (top % bottom === 0n ? 0n : 1n);
  return timesPowerOfTwo(whole, binary - shift - 1);
}

/** `whole · 2^exponent` to the nearest double. */
function timesPowerOfTwo(whole, exponent) {
  if (exponent >= 0) return exponent > 1100 ? Number.POSITIVE_INFINITY : Number(whole << BigInt(exponent));
  const least = Math.max(exponent + bitsOf(whole) - 53, -1074);
  if (least - exponent > bitsOf(whole) + 1) return 0;
  const shift = least - exponent;
  const near = shift > 0 ? nearest(whole, 1n << BigInt(shift)) : whole << BigInt(-shift);
  return least < -1000 ? Number(near) * 2 ** (least + 500) * 2 ** -500 : Number(near) * 2 ** least;
}

const bitsOf = (value) => value.toString(2).length;

module.exports = { bitsOf, fixed, power, rounded, roundedInt, significant };
