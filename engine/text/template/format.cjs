// Texts from patterns: Python's `'%s' % value` and `'{}'.format(value)`.
const { characters, fail, isList, isMap, isNumber, known, number, repr, str, typeName } = require('./values.cjs');

const PERCENT = /%(?:\((?<key>[^)]*)\))?(?<flags>[-+ #0]*)(?<width>\d+|\*)?(?:\.(?<precision>\d+))?(?<kind>[a-zA-Z%])/g;
const FIELD = /\{\{|\}\}|\{(?<name>[^{}!:]*)(?:!(?<conversion>[rsa]))?(?::(?<spec>[^{}]*))?\}/g;
const SPEC =
  /^(?:(?<fill>.)?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<alternate>#)?(?<zero>0)?(?<width>\d+)?(?<comma>[,_])?(?:\.(?<precision>\d+))?(?<kind>[a-zA-Z%])?$/su;

/** Longest width of a field. */
const MOST_WIDTH = 2 ** 16;

function percentFormat(pattern, values) {
  const list = isList(values) && values.kind === 'tuple' ? [...values] : [values];
  let used = 0;
  const text = pattern.replaceAll(PERCENT, (...found) => {
    const { key, flags, width, precision, kind } = found.at(-1);
    if (kind === '%') return '%';
    if (key === undefined && used >= list.length) fail('not enough arguments for format string');
    const value = known(
      key === undefined ? list[used++] : isMap(values) ? values.get(key) : fail('format requires a mapping'),
    );
    const align = flags.includes('-') ? '<' : '>';
    const sign = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '-';
    const zero = flags.includes('0') && align === '>';
    return aligned(converted(value, { kind, precision: precision && Number(precision), sign }), { align, width, zero });
  });
  if (used < list.length && !isMap(values)) fail('not all arguments converted during string formatting');
  return text;
}

function converted(value, { kind, precision, sign }) {
  if (kind === 's' || kind === 'r' || kind === 'a') {
    const text = kind === 's' ? str(value) : repr(value);
    return precision === undefined ? text : characters(text).slice(0, precision).join('');
  }
  if (!isNumber(value)) fail(`%${kind} format: a number is required, not ${typeName(value)}`);
  return numberText(number(value), { kind: 'iu'.includes(kind) ? 'd' : kind, precision, sign });
}

/** @param positional values of `{}` and `{0}`. @param named a Map */
function braceFormat(pattern, positional, named) {
  let used = 0;
  return pattern.replaceAll(FIELD, (...found) => {
    if (found[0] === '{{' || found[0] === '}}') return found[0][0];
    const { name, conversion, spec = '' } = found.at(-1);
    const [first, ...parts] = name.split(/[.[]/).map((part) => part.replace(/\]$/, ''));
    const key = first === '' ? String(used++) : first;
    let value = /^\d+$/.test(key) ? positional[Number(key)] : named.get(key);
    if (value === undefined) fail(`no value for the field "${name}"`);
    for (const part of parts) value = isMap(value) ? value.get(part) : isList(value) ? value[Number(part)] : undefined;
    return formatted(conversion === undefined ? value : conversion === 's' ? str(value) : repr(value), spec);
  });
}

function formatted(value, spec) {
  if (spec === '') return str(value);
  const found = SPEC.exec(spec)?.groups ?? fail(`Invalid format specifier '${spec}'`);
  const { fill = ' ', align, sign = '-', zero, width, comma, precision, kind } = found;
  if (isNumber(value) && typeof value !== 'boolean') {
    const text = numberText(value, { kind, precision: precision && Number(precision), sign, comma });
    return aligned(text, { align: align ?? '>', fill, width, zero: zero !== undefined });
  }
  const text = str(value);
  const cut = precision === undefined ? text : characters(text).slice(0, Number(precision)).join('');
  return aligned(cut, { align: align ?? '<', fill, width, zero: false });
}

function numberText(value, { kind, precision, sign, comma }) {
  const isInt = typeof value === 'bigint';
  const size = isInt ? (value < 0n ? -value : value) : Math.abs(value);
  const before = value < 0 || Object.is(value, -0) ? '-' : sign === '-' ? '' : sign;
  const grouped = (text) => (comma === undefined ? text : text.replace(/\B(?=(?:\d{3})+(?!\d))/g, comma));
  switch (kind) {
    case undefined:
      return before + grouped(isInt ? String(size) : precision === undefined ? repr(size) : general(size, precision));
    case 'd':
      return before + grouped(String(isInt ? size : BigInt(Math.trunc(size))));
    case 'x':
    case 'X':
    case 'o':
    case 'b': {
      const text = BigInt(size).toString({ x: 16, X: 16, o: 8, b: 2 }[kind]);
      return before + (kind === 'X' ? text.toUpperCase() : text);
    }
    case 'f':
    case 'F': {
      const [whole, decimals] = Number(size)
        .toFixed(precision ?? 6)
        .split('.');
      return before + grouped(whole) + (decimals === undefined ? '' : `.${decimals}`);
    }
    case '%':
      return `${before}${(100 * Number(size)).toFixed(precision ?? 6)}%`;
    case 'e':
      return before + padded(Number(size).toExponential(precision ?? 6));
    case 'g':
      return before + general(Number(size), precision ?? 6);
    default:
      return fail(`Unknown format code '${kind}'`);
  }
}

function general(size, precision) {
  const digits = Math.max(1, precision);
  const [, exponent] = size.toExponential(digits - 1).split('e');
  const trimmed = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (Number(exponent) < -4 || Number(exponent) >= digits) {
    const [mantissa] = size.toExponential(digits - 1).split('e');
    return padded(`${trimmed(mantissa)}e${exponent}`);
  }
  return trimmed(size.toFixed(digits - 1 - Number(exponent)));
}

/** An exponent of two digits at least. */
const padded = (text) => text.replace(/e([-+])(\d)$/, 'e$10$2');

function aligned(text, { align, fill = ' ', width, zero }) {
  const missing = Number(width ?? 0) - characters(text).length;
  if (missing > MOST_WIDTH) fail(`a field of ${width} characters is too wide`);
  if (missing <= 0) return text;
  if (zero || align === '=') {
    const sign = /^[-+ ]/.exec(text)?.[0] ?? '';
    return sign + (zero ? '0' : fill).repeat(missing) + text.slice(sign.length);
  }
  if (align === '<') return text + fill.repeat(missing);
  if (align === '>') return fill.repeat(missing) + text;
  const left = Math.floor(missing / 2);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

module.exports = { braceFormat, percentFormat };
