// Texts from patterns: Python's `'%s' % value` and `'{}'.format(value)`.
const { numberText } = require('./number-text.cjs');
const {
  ascii,
  characters,
  escaped,
  fail,
  isList,
  isMap,
  isMarkup,
  isNumber,
  isText,
  known,
  Markup,
  number,
  repr,
  str,
  typeName,
  Undefined,
} = require('./values.cjs');

const PERCENT =
  /%(?:(?:\((?<key>[^)]*)\))?(?<flags>[-+ #0]*)(?<width>\d+|\*)?(?:\.(?<precision>\d+|\*)?)?[hlL]?(?<kind>[\s\S]))?/g;
const SPEC =
  /^(?:(?<fill>[\s\S])?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<alternate>#)?(?<zero>0)?(?<width>\d+)?(?<comma>[,_])?(?:\.(?<precision>\d+))?(?<kind>[a-zA-Z%])?$/u;

/** Longest width of a field, and most digits of a number. */
const MOST_WIDTH = 2 ** 16;

function percentFormat(pattern, values) {
  const list = isList(values) && values.kind === 'tuple' ? [...values] : [values];
  const isEscaping = isMarkup(pattern);
  let [used, hasKey] = [0, false];
  const take = () => (used < list.length ? known(list[used++]) : fail('not enough arguments for format string'));
  const size = (given) => {
    if (given !== '*') return given === undefined ? undefined : Number(given);
    const value = take();
    return typeof value === 'bigint' ? Number(value) : fail('* wants int');
  };
  const text = String(pattern).replaceAll(PERCENT, (...found) => {
    const { key, flags, width, precision, kind } = found.at(-1);
    if (kind === undefined) fail('incomplete format');
    if (found[0] === '%%') return '%';
    const wide = size(width);
    const digits = found[0].includes('.') ? (size(precision) ?? 0) : undefined;
    hasKey ||= key !== undefined;
    const value = key === undefined ? take() : keyed(values, key);
    const isLeft = flags.includes('-') || wide < 0;
    const sign = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '-';
    const isNumeric = !'srac'.includes(kind);
    const written = converted(value, { kind, precision: digits, sign, isAlternate: flags.includes('#'), isEscaping });
    const zero = flags.includes('0') && !isLeft && isNumeric;
    return aligned(written, { align: isLeft ? '<' : '>', width: Math.abs(wide ?? 0), zero });
  });
  const isMapping = isMap(values) || (isList(values) && values.kind === undefined);
  if (used < list.length && !hasKey && !isMapping) fail('not all arguments converted during string formatting');
  return isEscaping ? new Markup(text) : text;
}

function keyed(values, key) {
  if (!isMap(values)) fail('format requires a mapping');
  return values.has(key) ? known(values.get(key)) : fail(`there is no key '${key}'`);
}

function converted(value, { kind, precision, sign, isAlternate, isEscaping }) {
  if (kind === 's' || kind === 'r' || kind === 'a') {
    const whole = kind === 's' ? str(value) : kind === 'r' ? repr(value) : ascii(value);
    const text = isEscaping ? escaped(whole) : String(whole);
    return precision === undefined ? text : characters(text).slice(0, precision).join('');
  }
  if (kind === 'c') {
    if (isText(value) && characters(value).length === 1) return String(value);
    return typeof value === 'bigint' ? character(value) : fail('%c requires int or char');
  }
  if (!'diouxXeEfFgG'.includes(kind)) fail(`unsupported format character '${kind}'`);
  if (!isNumber(value)) fail(`%${kind} format: a number is required, not ${typeName(value)}`);
  if ('oxX'.includes(kind) && typeof value === 'number') fail(`%${kind} format: an integer is required, not float`);
  if (typeof value === 'number' && !Number.isFinite(value) && 'diu'.includes(kind))
    fail('a float without a whole part cannot be written as an int');
  const own = 'diu'.includes(kind) && typeof value === 'number' ? BigInt(Math.trunc(value)) : number(value);
  return numberText(own, { kind: 'iu'.includes(kind) ? 'd' : kind, precision: bounded(precision), sign, isAlternate });
}

const character = (value) =>
  value >= 0n && value < 0x110000n ? String.fromCodePoint(Number(value)) : fail('%c arg not in range(0x110000)');

const bounded = (digits) => (digits > MOST_WIDTH ? fail(`${digits} digits are too many`) : digits);

/**
 * @param positional values of `{}` and `{0}`. @param named a Map. @param attribute reads `{a.b}`. @param item reads `{a[b]}`
 */
function braceFormat(pattern, positional, named, { attribute, item }) {
  let [used, isManual] = [0, false];
  const isEscaping = isMarkup(pattern);
  const text = filled(String(pattern), 2);
  return isEscaping ? new Markup(text) : text;

  function filled(source, depth) {
    if (depth === 0) fail('Max string recursion exceeded');
    const out = [];
    for (let at = 0; at < source.length; ) {
      const letter = source[at];
      if ((letter === '{' || letter === '}') && source[at + 1] === letter) {
        out.push(letter);
        at += 2;
      } else if (letter === '}') fail("Single '}' encountered in format string");
      else if (letter === '{') {
        const end = endOf(source, at);
        out.push(field(source.slice(at + 1, end), depth));
        at = end + 1;
      } else {
        out.push(letter);
        at++;
      }
    }
    return out.join('');
  }

  function endOf(source, from) {
    for (let [at, open] = [from, 0]; at < source.length; at++) {
      if (source[at] === '{') open++;
      if (source[at] === '}' && --open === 0) return at;
    }
    return fail("Single '{' encountered in format string");
  }

  function field(source, depth) {
    const {
      name,
      conversion,
      spec = '',
    } = /^(?<name>(?:\[[^\]]*\]|[^!:[])*)(?:!(?<conversion>[^:]*))?(?::(?<spec>[\s\S]*))?$/.exec(source).groups;
    const value = converse(fieldValue(name), conversion);
    const own = spec === '' ? '' : filled(spec, depth - 1);
    const written = formatted(value, own);
    return isEscaping ? String(escaped(written)) : written;
  }

  function fieldValue(name) {
    const [first] = /^[^.[]*/.exec(name);
    const isNumbered = /^\d*$/.test(first);
    if (isNumbered && used > 0 && (first !== '') !== isManual)
      fail('cannot switch between manual and automatic numbering of fields');
    if (isNumbered) isManual = first !== '';
    const place = first === '' ? used : Number(first);
    if (isNumbered) used++;
    if (isNumbered && place >= positional.length) fail(`Replacement index ${place} out of range`);
    if (!isNumbered && !named.has(first)) fail(`there is no field '${first}'`);
    let value = isNumbered ? positional[place] : named.get(first);
    for (const [, key, own] of name.slice(first.length).matchAll(/\.([^.[]+)|\[([^\]]*)\]/g))
      value = key !== undefined ? attribute(value, key) : item(value, /^\d+$/.test(own) ? BigInt(own) : own);
    return value;
  }
}

function converse(value, conversion) {
  switch (conversion) {
    case undefined:
      return value;
    case 's':
      return String(str(value));
    case 'r':
      return repr(value);
    case 'a':
      return ascii(value);
    default:
      return fail(`Unknown conversion specifier '${conversion}'`);
  }
}

function formatted(value, spec) {
  if (spec === '') return String(str(value));
  const isPlain = isNumber(value) || isText(value);
  if (!isPlain && !(value instanceof Undefined)) fail(`unsupported format string passed to ${typeName(value)}`);
  const found = SPEC.exec(spec)?.groups ?? fail(`Invalid format specifier '${spec}'`);
  const { fill, align, sign, alternate, zero, width, comma, precision, kind } = found;
  const digits = bounded(precision && Number(precision));
  if (isNumber(value)) {
    if (kind === 'c') return aligned(character(number(value)), { align: align ?? '<', fill, width });
    if (typeof value === 'number' ? !'eEfFgGn%'.includes(kind ?? 'g') : kind === 's')
      fail(`Unknown format code '${kind}' for object of type '${typeName(value)}'`);
    if (typeof value !== 'number' && digits !== undefined && !'eEfFgG%'.includes(kind ?? 'd'))
      fail('Precision not allowed in integer format specifier');
    const text = numberText(number(value), {
      kind: kind === 'n' ? (typeof value === 'number' ? 'g' : 'd') : kind,
      precision: digits,
      sign: sign ?? '-',
      isAlternate: alternate !== undefined,
      comma,
    });
    const isZeroed = zero !== undefined && align === undefined;
    if (isZeroed && comma !== undefined) return withZeros(text, Number(width ?? 0), comma);
    return aligned(text, {
      align: align ?? '>',
      fill: fill ?? (zero === undefined ? ' ' : '0'),
      width,
      zero: isZeroed,
    });
  }
  const isOdd = (kind ?? 's') !== 's' || sign !== undefined || alternate !== undefined || comma !== undefined;
  if (isOdd || align === '=') fail(`'${spec}' is no format of a text`);
  const text = str(value);
  const cut = digits === undefined ? text : characters(text).slice(0, digits).join('');
  return aligned(String(cut), { align: align ?? '<', fill: fill ?? (zero === undefined ? ' ' : '0'), width });
}

/** Zeros before a number with separators, which they have too. */
function withZeros(text, width, comma) {
  const [, sign, whole, rest] = /^([-+ ]?)([\d,_]+)(.*)$/.exec(text) ?? fail('only digits can be padded with zeros');
  const digits = whole.replaceAll(comma, '');
  const room = Math.min(width, MOST_WIDTH) - sign.length - rest.length;
  // With a separator before every third digit, n digits take n + ⌊(n − 1) / 3⌋ characters.
  const most = Math.max(digits.length, Math.ceil((3 * room + 1) / 4));
  const padded = digits.padStart(most, '0');
  const first = padded.length % 3 || 3;
  const groups = [padded.slice(0, first)];
  for (let at = first; at < padded.length; at += 3) groups.push(padded.slice(at, at + 3));
  return sign + groups.join(comma) + rest;
}

function aligned(text, { align, fill = ' ', width, zero }) {
  const missing = Number(width ?? 0) - characters(text).length;
  if (missing > MOST_WIDTH) fail(`a field of ${width} characters is too wide`);
  if (missing <= 0) return text;
  if (zero || align === '=') {
    const sign = /^[-+ ]?(?:0[xXobB])?/.exec(text)[0];
    return sign + (zero ? '0' : fill).repeat(missing) + text.slice(sign.length);
  }
  if (align === '<') return text + fill.repeat(missing);
  if (align === '>') return fill.repeat(missing) + text;
  const left = Math.floor(missing / 2);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

module.exports = { braceFormat, percentFormat };
