// Numbers as Python's formats write them: `d`, `x`, `e`, `f`, `g`, `%` and their like.
const { fixed, significant } = require('./decimals.cjs');
const { fail, repr } = require('./values.cjs');

const BASES = { x: [16, '0x'], X: [16, '0X'], o: [8, '0o'], b: [2, '0b'] };

/**
 * @param value an int or a float
 * @param how kind (a letter, or undefined), precision, sign (`-`, `+` or a space), isAlternate (`#`), comma (a separator)
 */
function numberText(value, { kind, precision, sign, isAlternate = false, comma }) {
  const isInt = typeof value === 'bigint';
  const size = isInt ? (value < 0n ? -value : value) : Math.abs(value);
  const before = value < 0 || Object.is(value, -0) ? '-' : sign === '-' ? '' : sign;
  const grouped = (text) => (comma === undefined ? text : text.replace(/\B(?=(?:\d{3})+(?!\d))/g, comma));
  const parted = (text) => {
    const [, whole, rest] = /^(\d*)(.*)$/s.exec(text);
    return before + grouped(whole) + rest;
  };
  if (kind === undefined || kind === 'd') {
    if (isInt) return before + grouped(String(size).padStart(precision ?? 0, '0'));
    return parted(precision === undefined ? repr(size) : general(size, precision, isAlternate, true));
  }
  if (Object.hasOwn(BASES, kind)) {
    const [base, prefix] = BASES[kind];
    const digits = size.toString(base).padStart(precision ?? 0, '0');
    return before + (isAlternate ? prefix : '') + (kind === 'X' ? digits.toUpperCase() : digits);
  }
  const lower = kind.toLowerCase();
  const written = Number.isFinite(Number(size)) ? float(Number(size), lower, precision ?? 6, isAlternate) : repr(size);
  return parted(kind === lower ? written : written.toUpperCase());
}

function float(size, kind, precision, isAlternate) {
  const point = isAlternate && precision === 0 ? '.' : '';
  switch (kind) {
    case 'f':
      return fixed(size, precision) + point;
    case '%':
      return `${fixed(100 * size, precision)}%`;
    case 'e':
      return exponential(...significant(size, precision + 1), point);
    case 'g':
      return general(size, precision, isAlternate, false);
    default:
      return fail(`Unknown format code '${kind}'`);
  }
}

function exponential(digits, exponent, point = '') {
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits + point;
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** So many digits, without zeros at the end. @param isFloat whether a whole number keeps a decimal, as without a letter */
function general(size, precision, isAlternate, isFloat) {
  const count = Math.max(1, precision);
  const [digits, exponent] = significant(size, count);
  const isLong = exponent < -4 || exponent >= (isFloat ? Math.max(count - 1, 1) : count);
  const shown = isAlternate ? digits : digits.replace(/0+$/, '') || '0';
  if (isLong) return exponential(shown, exponent);
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${shown}`;
  const whole = shown.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const decimals = shown.slice(exponent + 1) || (isFloat ? '0' : '');
  return decimals === '' ? whole + (isAlternate ? '.' : '') : `${whole}.${decimals}`;
}

module.exports = { numberText };
