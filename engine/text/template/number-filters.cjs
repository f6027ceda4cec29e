// Filters that make numbers: `int`, `float`, `round` (jinja2 3.1, filters.py), with the texts that Python reads as numbers.
const { rounded, roundedInt } = require('./decimals.cjs');
const { strip, withAsciiDigits } = require('./letters.cjs');
const { whole } = require('./methods.cjs');
const { fail, isNumber, isText, known, number } = require('./values.cjs');

const PREFIXES = { 2: '0b', 8: '0o', 16: '0x' };
/** Digits of the longest int that Python reads (sys.int_info). */
const MOST_DIGITS = 4300;

const readable = (value) => withAsciiDigits(strip(String(value), undefined, 'both'));

/** @returns `undefined` for a text that is no int */
function parsedInt(value, base) {
  if (base !== 0 && (base < 2 || base > 36)) return undefined;
  const [, sign, rest] = /^([-+]?)(.*)$/s.exec(readable(value).toLowerCase());
  const [own, prefix] =
    Object.entries(PREFIXES).find(([one, two]) => rest.startsWith(two) && [0, Number(one)].includes(base)) ?? [];
  const digits = own === undefined ? rest : rest.slice(prefix.length).replace(/^_/, '');
  const used = own === undefined ? base || 10 : Number(own);
  if (!/^[0-9a-z]+(?:_[0-9a-z]+)*$/.test(digits) || digits.length > MOST_DIGITS) return undefined;
  if (base === 0 && own === undefined && /^0.*[1-9]/.test(digits)) return undefined;
  let found = 0n;
  for (const letter of digits.replaceAll('_', '')) {
    const digit = Number.parseInt(letter, 36);
    if (digit >= used) return undefined;
    found = found * BigInt(used) + BigInt(digit);
  }
  return sign === '-' ? -found : found;
}

/** @returns `undefined` for a text that is no float */
function parsedFloat(value) {
  const text = readable(value).replaceAll(/(?<=\d)_(?=\d)/g, '');
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
  const [, sign, word] = /^([-+]?)(inf|infinity|nan)$/i.exec(text) ?? [];
  if (word === undefined) return undefined;
  return word.toLowerCase() === 'nan' ? Number.NaN : sign === '-' ? -Infinity : Infinity;
}

function toInt(value, [fallback = 0n, base = 10n]) {
  if (typeof value === 'number' && !Number.isFinite(value))
    return Number.isNaN(value) ? fallback : fail('cannot convert float infinity to integer');
  if (isNumber(known(value))) return typeof value === 'number' ? BigInt(Math.trunc(value)) : number(value);
  if (!isText(value)) return fallback;
  const int = parsedInt(value, whole(base));
  if (int !== undefined) return int;
  const float = parsedFloat(value);
  return float !== undefined && Number.isFinite(float) ? BigInt(Math.trunc(float)) : fallback;
}

function toFloat(value, [fallback = 0]) {
  if (isNumber(known(value))) return Number(value);
  return (isText(value) ? parsedFloat(value) : undefined) ?? fallback;
}

function round(value, [precision = 0n, method = 'common']) {
  if (!['common', 'ceil', 'floor'].includes(String(method))) fail('method must be common, ceil or floor');
  if (!isNumber(known(value))) fail('round needs a number');
  const decimals = whole(precision);
  if (String(method) === 'common') {
    if (typeof value === 'number') return rounded(value, decimals);
    return decimals < 0 ? roundedInt(number(value), -decimals) : number(value);
  }
  const scale = 10 ** decimals;
  const size = Number(value) * scale;
  if (!Number.isFinite(size)) fail('cannot convert float infinity to integer');
  return (String(method) === 'ceil' ? Math.ceil : Math.floor)(size) / scale;
}

module.exports = { round, toFloat, toInt };
