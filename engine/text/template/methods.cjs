// Methods of Python's values. Those that change a value are refused, as in Jinja's sandbox for chat templates.
const { braceFormat } = require('./format.cjs');
const {
  areEqual,
  characters,
  contains,
  fail,
  isList,
  isMap,
  isText,
  iterate,
  keyOf,
  known,
  tuple,
  typeName,
  withKind,
} = require('./values.cjs');

const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const LINE_BREAKS = '\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]';
const LINE = new RegExp(LINE_BREAKS);
const MUTATING = [
  'append',
  'clear',
  'extend',
  'insert',
  'pop',
  'popitem',
  'remove',
  'reverse',
  'setdefault',
  'sort',
  'update',
];

/** An argument by its place or its name. */
function argument(given, named, place, name, fallback) {
  if (place < given.length) return given[place];
  return named.has(name) ? named.get(name) : fallback;
}

const textOf = (value) => (isText(value) ? value : fail(`a str is needed, not ${typeName(known(value))}`));

/** Strips characters, white space unless some are given. */
function strip(text, chars, sides) {
  const isGiven = chars !== undefined && chars !== null;
  const set = isGiven ? new Set(characters(textOf(chars))) : undefined;
  const space = new RegExp(`^[${SPACE}]$`);
  const isStripped = (letter) => (set === undefined ? space.test(letter) : set.has(letter));
  const letters = characters(text);
  let [from, to] = [0, letters.length];
  if (sides !== 'right') while (from < to && isStripped(letters[from])) from++;
  if (sides !== 'left') while (to > from && isStripped(letters[to - 1])) to--;
  return letters.slice(from, to).join('');
}

function split(text, separator, most, fromRight) {
  const limit = most < 0 ? Number.POSITIVE_INFINITY : most;
  if (separator === undefined || separator === null) {
    const words = new RegExp(`[^${SPACE}]+`, 'g');
    const found = [...text.matchAll(words)];
    if (found.length <= limit) return found.map(([word]) => word);
    if (fromRight) {
      const cut = found[found.length - limit - 1];
      const head = text.slice(0, cut.index + cut[0].length);
      return [head, ...found.slice(found.length - limit).map(([word]) => word)];
    }
    return [...found.slice(0, limit).map(([word]) => word), strip(text.slice(found[limit].index), undefined, 'left')];
  }
  if (textOf(separator) === '') fail('empty separator');
  const parts = text.split(separator);
  if (parts.length - 1 <= limit) return parts;
  if (fromRight) return [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)];
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

function replace(text, from, to, count) {
  if (count === undefined || count < 0)
    return from === '' ? replaceEmpty(text, to, Infinity) : text.replaceAll(from, () => to);
  if (from === '') return replaceEmpty(text, to, count);
  const parts = text.split(from);
  const head = parts.slice(0, count + 1).join(to);
  return parts.length > count + 1 ? [head, ...parts.slice(count + 1)].join(from) : head;
}

function replaceEmpty(text, to, count) {
  const letters = characters(text);
  return (
    letters.map((letter, index) => (index < count ? to : '') + letter).join('') + (letters.length < count ? to : '')
  );
}

function splitLines(text, keepsEnds) {
  const lines = [];
  let rest = text;
  while (rest !== '') {
    const found = LINE.exec(rest);
    if (found === null) return [...lines, rest];
    const end = found.index + found[0].length;
    lines.push(rest.slice(0, keepsEnds ? end : found.index));
    rest = rest.slice(end);
  }
  return lines;
}

/** Whether a part of a text from one place to another begins or ends with a text, or one of several. */
function meets(text, parts, from, to, test) {
  const part = characters(text)
    .slice(from ?? 0, to)
    .join('');
  return (isList(parts) ? parts : [parts]).some((one) => test(part, textOf(one)));
}

function indexOf(text, part, [from = 0n, to], isLast) {
  const letters = characters(text);
  const [begin, end] = [Number(from), to === undefined ? letters.length : Number(to)];
  const inside = letters.slice(begin, end).join('');
  const at = isLast ? inside.lastIndexOf(textOf(part)) : inside.indexOf(textOf(part));
  return at < 0 ? -1n : BigInt(characters(inside.slice(0, at)).length + (begin < 0 ? letters.length + begin : begin));
}

const capitalize = (text) => {
  const [first = '', ...others] = characters(text);
  return first.toUpperCase() + others.join('').toLowerCase();
};
const titled = (text) => text.replaceAll(/\p{L}+/gu, capitalize);
const all = (pattern) => (text) => pattern.test(text);
/** Whether a text has letters with a case, and all of them this one. */
const hasCase = (text, change, other) => text === change(text) && text !== other(text);
const pad = (text, width, fill, side) => {
  const missing = Math.max(0, Number(width) - characters(text).length);
  if (missing > 2 ** 20) fail(`a text of ${width} characters is too wide`);
  const left =
    side === 'both' ? Math.floor(missing / 2) + (missing & Number(width) & 1) : side === 'left' ? missing : 0;
  return fill.repeat(left) + text + fill.repeat(missing - left);
};
const partitioned = (text, separator, isLast) => {
  const at = isLast ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return tuple(isLast ? ['', '', text] : [text, '', '']);
  return tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
};
const count = (value, fallback = -1) => (value === undefined || value === null ? fallback : Number(value));

const upper = (text) => text.toUpperCase();
const lower = (text) => text.toLowerCase();

/** By name: what a text's method does with the text and its arguments. */
const TEXT = {
  capitalize,
  casefold: (text) => lower(text).replaceAll('ß', 'ss'),
  center: (text, [width, fill = ' ']) => pad(text, width, fill, 'both'),
  count: (text, [part]) => BigInt(text.split(textOf(part)).length - 1),
  endswith: (text, [part, from, to]) =>
    meets(text, part, count(from, 0), count(to, undefined), (a, b) => a.endsWith(b)),
  find: (text, [part, ...range]) => indexOf(text, part, range, false),
  format: (text, given, named) => braceFormat(text, given, named),
  index: (text, [part, ...range]) => {
    const at = indexOf(text, part, range, false);
    return at < 0n ? fail('substring not found') : at;
  },
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isalpha: all(/^\p{L}+$/u),
  isascii: all(/^[\0-\x7f]*$/),
  isdecimal: all(/^\p{Nd}+$/u),
  isdigit: all(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u),
  isidentifier: all(/^[\p{L}_][\p{L}\p{N}_]*$/u),
  islower: (text) => hasCase(text, lower, upper),
  isnumeric: all(/^\p{N}+$/u),
  isspace: all(new RegExp(`^[${SPACE}]+$`)),
  istitle: (text) => hasCase(text, titled, lower),
  isupper: (text) => hasCase(text, upper, lower),
  join: (text, [items]) => [...iterate(items)].map(textOf).join(text),
  ljust: (text, [width, fill = ' ']) => pad(text, width, fill, 'right'),
  lower,
  lstrip: (text, [chars]) => strip(text, chars, 'left'),
  partition: (text, [separator]) => partitioned(text, textOf(separator), false),
  removeprefix: (text, [part]) => (text.startsWith(textOf(part)) ? text.slice(part.length) : text),
  removesuffix: (text, [part]) => (part !== '' && text.endsWith(textOf(part)) ? text.slice(0, -part.length) : text),
  replace: (text, given, named) =>
    replace(text, textOf(given[0]), textOf(given[1]), count(argument(given, named, 2, 'count'), undefined)),
  rfind: (text, [part, ...range]) => indexOf(text, part, range, true),
  rindex: (text, [part, ...range]) => {
    const at = indexOf(text, part, range, true);
    return at < 0n ? fail('substring not found') : at;
  },
  rjust: (text, [width, fill = ' ']) => pad(text, width, fill, 'left'),
  rpartition: (text, [separator]) => partitioned(text, textOf(separator), true),
  rsplit: (text, given, named) =>
    split(text, argument(given, named, 0, 'sep'), count(argument(given, named, 1, 'maxsplit')), true),
  rstrip: (text, [chars]) => strip(text, chars, 'right'),
  split: (text, given, named) =>
    split(text, argument(given, named, 0, 'sep'), count(argument(given, named, 1, 'maxsplit')), false),
  splitlines: (text, given, named) => splitLines(text, argument(given, named, 0, 'keepends', false)),
  startswith: (text, [part, from, to]) =>
    meets(text, part, count(from, 0), count(to, undefined), (a, b) => a.startsWith(b)),
  strip: (text, [chars]) => strip(text, chars, 'both'),
  swapcase: (text) =>
    characters(text)
      .map((letter) => (letter === upper(letter) ? lower(letter) : upper(letter)))
      .join(''),
  title: titled,
  upper,
  zfill: (text, [width]) => {
    const sign = /^[-+]?/.exec(text)[0];
    return sign + pad(text.slice(sign.length), Number(width) - sign.length, '0', 'left');
  },
};

const LIST = {
  copy: (list) => withKindOf(list, [...list]),
  count: (list, [value]) => BigInt(list.filter((one) => areEqual(one, value)).length),
  index: (list, [value]) => {
    const at = list.findIndex((one) => areEqual(one, value));
    return at < 0 ? fail('the value is not in the list') : BigInt(at);
  },
};

const withKindOf = (list, items) => (list.kind === undefined ? items : withKind(list.kind, items));

const DICT = {
  copy: (map) => new Map(map),
  get: (map, [key, fallback = null]) => (contains(map, key) ? map.get(keyOf(key)) : fallback),
  items: (map) => withKind('dict_items', [...map].map(tuple)),
  keys: (map) => withKind('dict_keys', map.keys()),
  values: (map) => withKind('dict_values', map.values()),
};

/** A method of a value; `undefined` if it has none of that name. */
function methodOf(value, name) {
  const methods = isText(value) ? TEXT : isMap(value) ? DICT : isList(value) ? LIST : {};
  if (Object.hasOwn(methods, name)) return (given, named) => methods[name](value, given, named);
  if ((isMap(value) || isList(value)) && MUTATING.includes(name))
    return () => fail(`access to attribute '${name}' of '${typeName(value)}' object is unsafe`);
  return undefined;
}

module.exports = { argument, capitalize, methodOf, pad, replace, splitLines, strip };
