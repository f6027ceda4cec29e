// Methods of Python's values. Those that change a value are refused, as in Jinja's sandbox for chat templates.
const { braceFormat } = require('./format.cjs');
const { capitalize, KINDS, lower, strip, title, upper, WORDS } = require('./letters.cjs');
const {
  areEqual,
  characters,
  contains,
  escaped,
  fail,
  isList,
  isMap,
  isMarkup,
  isText,
  iterate,
  keyOf,
  known,
  Markup,
  number,
  Range,
  tuple,
  typeName,
  withKind,
} = require('./values.cjs');

const LINE_BREAKS = '\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]';
const LINE = new RegExp(LINE_BREAKS);
/** Most characters that a method adds in one place. */
const MOST_WIDTH = 2 ** 20;
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

/**
 * Arguments in the order of their parameters, `undefined` for those that are not given.
 * @param names a space between them: `?` after one that may be missing; those before `/` can't be named
 * @throws TemplateFault for arguments that are too many, missing, unknown or given twice
 */
function bound(what, names, given, named) {
  const parameters = names.split(' ').filter((one) => one !== '/' && one !== '');
  const unnamed = names.includes('/') ? names.split(' ').indexOf('/') : 0;
  if (given.length > parameters.length)
    fail(`${what} takes at most ${parameters.length} arguments (${given.length} given)`);
  for (const name of named.keys()) {
    const place = parameters.findIndex((one) => one.replace('?', '') === name);
    if (place < unnamed) fail(`${what} has no argument '${name}'`);
    if (place < given.length) fail(`${what} has the argument '${name}' twice`);
  }
  return parameters.map((one, place) => {
    const name = one.replace('?', '');
    if (one === name && place >= given.length && !named.has(name)) fail(`${what} misses the argument '${name}'`);
    return argument(given, named, place, name);
  });
}

const textOf = (value) => (isText(value) ? String(value) : fail(`a str is needed, not ${typeName(known(value))}`));
const textOrNone = (value) => (value === undefined || value === null ? undefined : textOf(value));
const whole = (value, fallback) => {
  if (value === undefined || value === null) return fallback;
  const found = number(known(value));
  return typeof found === 'bigint' ? Number(found) : fail(`an integer is needed, not ${typeName(value)}`);
};

function split(text, separator, most, fromRight) {
  const limit = most < 0 ? Number.POSITIVE_INFINITY : most;
  if (separator === undefined) {
    const found = [...text.matchAll(WORDS)];
    if (found.length <= limit) return found.map(([word]) => word);
    if (fromRight) {
      const cut = found[found.length - limit - 1];
      const head = text.slice(0, cut.index + cut[0].length);
      return [head, ...found.slice(found.length - limit).map(([word]) => word)];
    }
    return [...found.slice(0, limit).map(([word]) => word), strip(text.slice(found[limit].index), undefined, 'left')];
  }
  if (separator === '') fail('a separator has at least one character');
  const parts = text.split(separator);
  if (parts.length - 1 <= limit) return parts;
  if (fromRight) return [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)];
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

/** @param count below 0: all */
function replace(text, from, to, count) {
  const most = count < 0 ? Number.POSITIVE_INFINITY : count;
  if (from !== '') {
    const parts = text.split(from);
    if (parts.length <= most) return parts.join(to);
    return [parts.slice(0, most + 1).join(to), ...parts.slice(most + 1)].join(from);
  }
  const letters = characters(text);
  const shown = letters.map((letter, index) => (index < most ? to : '') + letter).join('');
  return letters.length < most ? shown + to : shown;
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

/** Characters from one place to another, as Python bounds them; `undefined` where the first is beyond the end. */
function part(text, from, to) {
  const letters = characters(text);
  const place = (value) => Math.max(0, value < 0 ? value + letters.length : value);
  const [begin, end] = [place(whole(from, 0)), Math.min(place(whole(to, letters.length)), letters.length)];
  return begin > letters.length || begin > end ? undefined : { begin, inside: letters.slice(begin, end).join('') };
}

function meets(text, parts, from, to, test) {
  if (isList(parts) && parts.kind !== 'tuple') fail('a str or a tuple of str is needed, not list');
  const found = part(text, from, to);
  const all = (isList(parts) ? parts : [parts]).map(textOf);
  return found !== undefined && all.some((one) => test(found.inside, one));
}

function indexOf(text, sought, from, to, isLast) {
  const found = part(text, from, to);
  const own = textOf(sought);
  if (found === undefined) return -1n;
  const at = isLast ? found.inside.lastIndexOf(own) : found.inside.indexOf(own);
  return at < 0 ? -1n : BigInt(found.begin + characters(found.inside.slice(0, at)).length);
}

const atLeast0 = (at) => (at < 0n ? fail('the text has no such part') : at);

function occurrences(text, sought, from, to) {
  const found = part(text, from, to);
  const own = textOf(sought);
  if (found === undefined) return 0n;
  return BigInt(own === '' ? characters(found.inside).length + 1 : found.inside.split(own).length - 1);
}

function pad(text, width, fill, side) {
  const own = textOf(fill ?? ' ');
  if (characters(own).length !== 1) fail('a text is filled with exactly one character');
  const missing = Math.max(0, whole(width) - characters(text).length);
  if (missing > MOST_WIDTH) fail(`a text of ${width} characters is too wide; at most ${MOST_WIDTH} are added`);
  const left = side === 'both' ? Math.floor(missing / 2) + (missing & whole(width) & 1) : side === 'left' ? missing : 0;
  return own.repeat(left) + text + own.repeat(missing - left);
}

function partitioned(text, separator, isLast) {
  if (separator === '') fail('a separator has at least one character');
  const at = isLast ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return tuple(isLast ? ['', '', text] : [text, '', '']);
  return tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function expandTabs(text, size) {
  if (size > MOST_WIDTH) fail(`tabs of ${size} characters are too wide; at most ${MOST_WIDTH} are allowed`);
  let column = 0;
  return characters(text)
    .map((letter) => {
      const shown = letter === '\t' ? ' '.repeat(size > 0 ? size - (column % size) : 0) : letter;
      column = letter === '\n' || letter === '\r' ? 0 : column + shown.length;
      return shown;
    })
    .join('');
}

/** By name: parameters of a text's method, and what it does with the text and its arguments. */
const TEXT = {
  capitalize: ['', capitalize],
  casefold: ['', (text) => lower(text).replaceAll('ß', 'ss')],
  center: ['width fill? /', (text, [width, fill]) => pad(text, width, fill, 'both')],
  count: ['sub start? end? /', (text, [sought, from, to]) => occurrences(text, sought, from, to)],
  endswith: ['suffix start? end? /', (text, [own, from, to]) => meets(text, own, from, to, (a, b) => a.endsWith(b))],
  expandtabs: ['tabsize?', (text, [size]) => expandTabs(text, whole(size, 8))],
  find: ['sub start? end? /', (text, [own, from, to]) => indexOf(text, own, from, to, false)],
  index: ['sub start? end? /', (text, [own, from, to]) => atLeast0(indexOf(text, own, from, to, false))],
  join: ['iterable /', (text, [items]) => [...iterate(items)].map(textOf).join(text)],
  ljust: ['width fill? /', (text, [width, fill]) => pad(text, width, fill, 'right')],
  lower: ['', lower],
  lstrip: ['chars? /', (text, [chars]) => strip(text, textOrNone(chars), 'left')],
  partition: ['sep /', (text, [separator]) => partitioned(text, textOf(separator), false)],
  removeprefix: ['prefix /', (text, [own]) => (text.startsWith(textOf(own)) ? text.slice(textOf(own).length) : text)],
  removesuffix: [
    'suffix /',
    (text, [own]) => (textOf(own) !== '' && text.endsWith(own) ? text.slice(0, -textOf(own).length) : text),
  ],
  replace: ['old new / count?', (text, [from, to, count]) => replace(text, textOf(from), textOf(to), whole(count, -1))],
  rfind: ['sub start? end? /', (text, [own, from, to]) => indexOf(text, own, from, to, true)],
  rindex: ['sub start? end? /', (text, [own, from, to]) => atLeast0(indexOf(text, own, from, to, true))],
  rjust: ['width fill? /', (text, [width, fill]) => pad(text, width, fill, 'left')],
  rpartition: ['sep /', (text, [separator]) => partitioned(text, textOf(separator), true)],
  rsplit: ['sep? maxsplit?', (text, [separator, most]) => split(text, textOrNone(separator), whole(most, -1), true)],
  rstrip: ['chars? /', (text, [chars]) => strip(text, textOrNone(chars), 'right')],
  split: ['sep? maxsplit?', (text, [separator, most]) => split(text, textOrNone(separator), whole(most, -1), false)],
  splitlines: ['keepends?', (text, [keepsEnds]) => splitLines(text, whole(keepsEnds, 0) !== 0)],
  startswith: [
    'prefix start? end? /',
    (text, [own, from, to]) => meets(text, own, from, to, (a, b) => a.startsWith(b)),
  ],
  strip: ['chars? /', (text, [chars]) => strip(text, textOrNone(chars), 'both')],
  swapcase: [
    '',
    (text) =>
      characters(text)
        .map((letter) => (/\p{Uppercase}/u.test(letter) ? lower(letter) : upper(letter)))
        .join(''),
  ],
  title: ['', title],
  upper: ['', upper],
  zfill: [
    'width /',
    (text, [width]) => {
      const sign = /^[-+]?/.exec(text)[0];
      return sign + pad(text.slice(sign.length), BigInt(whole(width) - sign.length), '0', 'left');
    },
  ],
  ...Object.fromEntries(Object.entries(KINDS).map(([name, test]) => [name, ['', test]])),
};

const indexIn = (items, value, from, to) => {
  const place = (own, fallback) => {
    const at = whole(own, fallback);
    return Math.max(0, at < 0 ? at + items.length : at);
  };
  const begin = place(from, 0);
  const at = items.slice(begin, place(to, items.length)).findIndex((one) => areEqual(one, value));
  return at < 0 ? fail('the value is not in the list') : BigInt(begin + at);
};
const countIn = (items, value) => BigInt(items.filter((one) => areEqual(one, value)).length);

const LIST = {
  copy: ['', (list) => [...list]],
  count: ['value /', (list, [value]) => countIn(list, value)],
  index: ['value start? stop? /', (list, [value, from, to]) => indexIn(list, value, from, to)],
};
const TUPLE = { count: LIST.count, index: LIST.index };
const RANGE = {
  count: ['value /', (range, [value]) => countIn([...range], value)],
  index: ['value /', (range, [value]) => indexIn([...range], value)],
};

const DICT = {
  copy: ['', (map) => new Map(map)],
  get: ['key default? /', (map, [key, fallback = null]) => (contains(map, key) ? map.get(keyOf(key)) : fallback)],
  items: ['', (map) => withKind('dict_items', [...map].map(tuple))],
  keys: ['', (map) => withKind('dict_keys', map.keys())],
  values: ['', (map) => withKind('dict_values', map.values())],
};

function methodsOf(value) {
  if (isText(value)) return TEXT;
  if (isMap(value)) return DICT;
  if (value instanceof Range) return RANGE;
  if (!isList(value)) return {};
  return value.kind === undefined ? LIST : value.kind === 'tuple' ? TUPLE : {};
}

/** Reads attributes and items for texts that are formatted. */
function formatted(value, name, given, named, environment) {
  if (name === 'format') return braceFormat(value, given, named, environment);
  const [values] = bound('format_map', 'mapping /', given, named);
  return braceFormat(value, [], isMap(values) ? values : fail('format_map needs a dict'), environment);
}

/** Arguments of a method of escaped text: texts that join it are escaped. */
function marked(name, given) {
  const safe = (one) => (isText(one) ? escaped(one) : one);
  if (name === 'join') return [[...iterate(given[0])].map(safe)];
  return name === 'replace' ? given.map(safe) : given;
}

const remarked = (found) => {
  if (typeof found === 'string') return new Markup(found);
  return isList(found) ? Object.assign(found, found.map(remarked)) : found;
};

/** A method of a value; `undefined` if it has none of that name. */
function methodOf(value, name, environment) {
  if (isText(value) && (name === 'format' || name === 'format_map'))
    return (given, named) => formatted(value, name, given, named, environment);
  const methods = methodsOf(value);
  if (Object.hasOwn(methods, name)) {
    const [names, method] = methods[name];
    if (!isMarkup(value)) return (given, named) => method(value, bound(name, names, given, named));
    return (given, named) => remarked(method(String(value), bound(name, names, marked(name, given), named)));
  }
  if ((isMap(value) || isList(value)) && MUTATING.includes(name))
    return () => fail(`the attribute '${name}' of a ${typeName(value)} can't be read`);
  return undefined;
}

module.exports = { bound, methodOf, pad, replace, splitLines, whole };
