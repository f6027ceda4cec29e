// Jinja's filters, `value|name(arguments)` (jinja2 3.1, filters.py; tojson as in transformers). Each has its parameters and
// gets the value, the arguments in their order, and the environment: how attributes are read and other filters are found.
const { arithmetic } = require('./arithmetic.cjs');
const { percentFormat } = require('./format.cjs');
const { capitalize, lower, strip, upper } = require('./letters.cjs');
const { bound, pad, replace, splitLines, whole } = require('./methods.cjs');
const { round, toFloat, toInt } = require('./number-filters.cjs');
const { entityText, htmlAttributes, inQuery, inUrl, wrapped } = require('./text-filters.cjs');
const {
  areEqual,
  characters,
  compare,
  contains,
  escaped,
  fail,
  generator,
  isList,
  isMap,
  isMarkup,
  isNumber,
  isText,
  isTrue,
  iterate,
  json,
  known,
  lengthOf,
  Markup,
  number,
  Range,
  repr,
  str,
  taken,
  tuple,
  typeName,
  Undefined,
  withKind,
} = require('./values.cjs');

const list = (value) => [...iterate(value)];
const ignoringCase = (value) => (isText(value) ? lower(String(value)) : value);
const noValue = (what) => new Undefined(`No ${what} item, sequence was empty.`);
const orNone = (value) => value ?? null;

/** A filter that changes a value's text as a method does; escaped text stays escaped. */
const onText = (change) => (value, given) => {
  const text = str(value);
  return isMarkup(text) ? new Markup(change(String(text), given)) : change(text, given);
};

/** A function that reads an attribute such as `a.b.0`. */
function attributeGetter(environment, attribute, fallback) {
  const parts = isText(attribute) ? String(attribute).split('.') : [attribute];
  const keys = parts.map((part) => (/^\d+$/.test(String(part)) ? BigInt(part) : part));
  return (value) =>
    keys.reduce((now, key) => {
      const found = environment.item(now, key);
      return found instanceof Undefined && fallback !== undefined ? fallback : found;
    }, value);
}

/** Key by which items are compared. */
function keyGetter(environment, attribute, isCaseSensitive) {
  const read = orNone(attribute) === null ? (one) => one : attributeGetter(environment, attribute);
  return (one) => (isCaseSensitive ? read(one) : ignoringCase(read(one)));
}

const sortedBy = (items, key, isReversed) => {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  keyed.sort((a, b) => (isReversed ? compare(b.key, a.key) : compare(a.key, b.key)));
  return keyed.map(({ item }) => item);
};

const extreme =
  (isBetter, what) =>
  (value, [isCaseSensitive, attribute], environment) => {
    const key = keyGetter(environment, attribute, isTrue(isCaseSensitive ?? false));
    const items = list(value);
    if (items.length === 0) return noValue(what);
    return items.reduce((best, one) => (isBetter(compare(key(one), key(best))) ? one : best));
  };

/** Items of which a test holds, or doesn't; without a test, those that are true. */
const selecting = (isWanted, hasAttribute) => (value, given, named, environment) => {
  if (!isTrue(value)) return generator(() => []);
  if (hasAttribute && given.length === 0) fail('map needs the name of an attribute');
  const [name, ...others] = hasAttribute ? given.slice(1) : given;
  const read = hasAttribute ? attributeGetter(environment, given[0]) : (one) => one;
  const test = name === undefined ? isTrue : environment.test(name, others, named);
  return generator(() => list(value).filter((one) => test(read(one)) === isWanted));
};

function map(value, given, named, environment) {
  if (!isTrue(value)) return generator(() => []);
  if (given.length === 0 && named.has('attribute')) {
    const odd = [...named.keys()].find((name) => name !== 'attribute' && name !== 'default');
    if (odd !== undefined) fail(`map has no argument '${odd}'`);
    const read = attributeGetter(environment, named.get('attribute'), named.get('default') ?? undefined);
    return generator(() => list(value).map(read));
  }
  const [name, ...others] = given.length > 0 ? given : fail('map needs a filter or an attribute');
  return generator(() => list(value).map((one) => environment.filter(name, one, others, named)));
}

function indent(value, [width = 4n, first = false, blank = false]) {
  const text = isText(value) ? value : fail(`indent needs a str, not ${typeName(known(value))}`);
  const space = isText(width) ? String(width) : ' '.repeat(Math.max(0, whole(width)));
  // jinja2 appends a line break, so that the last one isn't lost.
  const lines = splitLines(`${text}\n`, false);
  const [head = '', ...others] = lines;
  const rest = others.map((line) => `\n${line === '' && !isTrue(blank) ? '' : space}${line}`).join('');
  const shown = (isTrue(first) ? space : '') + head + rest;
  return isMarkup(text) ? new Markup(shown) : shown;
}

function tojson(value, [ascii = false, wide = null, separators = null, isSorted = false]) {
  return json(value, {
    isAscii: isTrue(ascii),
    indent: wide === null ? undefined : isText(wide) ? String(wide) : ' '.repeat(Math.max(0, whole(wide))),
    separators: separators === null ? undefined : list(separators).map(String),
    isSorted: isTrue(isSorted),
  });
}

function groupby(value, [attribute, fallback, isCaseSensitive = false], environment) {
  const read = attributeGetter(environment, attribute, fallback ?? undefined);
  const key = (one) => (isTrue(isCaseSensitive) ? read(one) : ignoringCase(read(one)));
  const groups = [];
  for (const one of sortedBy(list(value), key, false)) {
    const last = groups.at(-1);
    if (last !== undefined && areEqual(key(last[1][0]), key(one))) last[1].push(one);
    else groups.push([read(one), [one]]);
  }
  return groups.map(([grouper, items]) => Object.assign(tuple([grouper, items]), { grouper, list: items }));
}

function unique(value, [isCaseSensitive = false, attribute], environment) {
  const key = keyGetter(environment, attribute, isTrue(isCaseSensitive));
  const seen = [];
  const items = list(value).filter((one) => {
    const own = key(one);
    if (isMap(own) || (isList(own) && own.kind !== 'tuple')) fail(`unique compares no ${typeName(own)}`);
    if (contains(seen, own)) return false;
    seen.push(own);
    return true;
  });
  return items;
}

function batches(value, [linecount, fill = null]) {
  const found = [];
  let now = [];
  for (const item of iterate(value)) {
    if (now.length === whole(linecount)) {
      found.push(now);
      now = [];
    }
    now.push(item);
  }
  if (now.length === 0) return found;
  if (fill !== null && whole(linecount) > MOST_PARTS)
    fail(`a batch of ${linecount} items is too long to fill; at most ${MOST_PARTS}`);
  if (fill !== null) while (now.length < whole(linecount)) now.push(fill);
  return [...found, now];
}

function slices(value, [count, fill = null]) {
  const items = list(value);
  const parts = whole(count);
  if (parts === 0) fail('slice needs at least one part');
  if (parts > MOST_PARTS) fail(`${parts} slices are too many; at most ${MOST_PARTS}`);
  const [size, more] = [Math.floor(items.length / parts), items.length % parts];
  let at = 0;
  return Array.from({ length: Math.max(0, parts) }, (_, index) => {
    const part = items.slice(at, at + size + (index < more ? 1 : 0));
    at += part.length;
    return fill !== null && index >= more ? [...part, fill] : part;
  });
}

function truncate(value, [given = 255n, killWords = false, end = '...', leeway = 5n]) {
  const [length, most] = [whole(given), whole(given) + whole(leeway ?? 5n)];
  const [dots, size] = [characters(str(end)).length, Number(lengthOf(value))];
  if (length < dots) fail(`truncate: ${length} characters have no room for the ${dots} at the end`);
  if (whole(leeway ?? 5n) < 0) fail(`truncate: a leeway is 0 or more, not ${leeway}`);
  if (size <= most) return value;
  if (!isText(value)) fail(`truncate needs a str, not ${typeName(value)}`);
  const cut = characters(value)
    .slice(0, length - dots)
    .join('');
  if (isTrue(killWords)) return cut + end;
  const space = cut.lastIndexOf(' ');
  return (space < 0 ? cut : cut.slice(0, space)) + end;
}

function dictsort(value, [isCaseSensitive = false, by = 'key', isReversed = false]) {
  const place = ['key', 'value'].indexOf(String(by));
  if (place < 0) fail('dictsort sorts by "key" or by "value"');
  if (!isMap(known(value))) fail(`dictsort needs a dict, not ${typeName(value)}`);
  const key = (pair) => (isTrue(isCaseSensitive) ? pair[place] : ignoringCase(pair[place]));
  return sortedBy([...value].map(tuple), key, isTrue(isReversed));
}

function sort(value, [isReversed = false, isCaseSensitive = false, attributes = null], environment) {
  const parts = isText(attributes) ? String(attributes).split(',') : [attributes];
  const keys = parts.map((attribute) => keyGetter(environment, attribute, isTrue(isCaseSensitive)));
  return sortedBy(list(value), (one) => keys.map((key) => key(one)), isTrue(isReversed));
}

function sum(value, [attribute = null, start = 0n], environment) {
  const items = attribute === null ? list(value) : list(value).map(attributeGetter(environment, attribute));
  if (isText(start)) fail('sum adds no texts; join does');
  return items.reduce((total, one) => arithmetic('+', total, one), start);
}

function last(value) {
  if (isList(value) && ['generator', 'dict_keys', 'dict_values', 'dict_items'].includes(value.kind ?? ''))
    return value.kind === 'generator' ? fail('a generator has no reverse order') : (value.at(-1) ?? noValue('last'));
  return list(value).at(-1) ?? noValue('last');
}

function first(value) {
  if (isList(value) && value.kind === 'generator') return taken(value, 1)[0] ?? noValue('first');
  for (const one of iterate(value)) return one;
  return noValue('first');
}

function reverse(value) {
  if (isText(value)) return characters(value).toReversed().join('');
  if (isList(value) && value.kind === 'generator') return list(value).toReversed();
  if (isList(value) || isMap(value) || value instanceof Range || value instanceof Undefined)
    return generator(() => list(value).toReversed());
  return fail('argument must be iterable');
}

const items = (value) => {
  if (value instanceof Undefined) return [];
  return isMap(value) ? [...value].map(tuple) : fail('items needs a dict');
};
/** A filter whose items are made when they are gone through. */
const lazily =
  (make) =>
  (...all) =>
    generator(() => make(...all));
const byDefault = (value, [fallback = '', isAnyFalse = false]) =>
  value instanceof Undefined || (isTrue(isAnyFalse) && !isTrue(value)) ? fallback : value;
const joined = (value, [separator = '', attribute], environment) => {
  const read = orNone(attribute) === null ? list(value) : list(value).map(attributeGetter(environment, attribute));
  return read.map((one) => String(str(one))).join(String(str(separator)));
};
const replaced = (value, [from, to, count]) =>
  replace(String(str(value)), String(str(from)), String(str(to)), count === null ? -1 : whole(count, -1));
const title = (value) => titledWords(String(str(value)));
const titledWords = (text) =>
  text
    .split(/([-\s({[<]+)/)
    .filter((part) => part !== '')
    .map((part) => upper(characters(part)[0]) + lower(characters(part).slice(1).join('')))
    .join('');

/** Characters of a line of Python's pprint, which divides longer texts. */
const LINE = 80;
/** Most items of a filled batch, and most slices. */
const MOST_PARTS = 100_000;
/** A value whose maps have their keys in order. */
function inOrder(value) {
  if (isMap(value))
    return new Map(sortedBy([...value], ([key]) => key, false).map(([key, own]) => [key, inOrder(own)]));
  if (!isList(value)) return value;
  return value.kind === undefined ? value.map(inOrder) : withKind(value.kind, value.map(inOrder));
}

function pprint(value) {
  const text = repr(inOrder(value));
  if (text.length > LINE) fail(`pprint of ${text.length} characters is not supported; a line has ${LINE}`);
  return text;
}

/** By name: parameters and function. */
const BOUND = {
  abs: ['', (value) => (compare(number(known(value)), 0n) < 0 ? -number(value) : absolute(value))],
  attr: ['name', (value, [name], environment) => environment.attribute(value, String(name), false)],
  batch: ['linecount fill_with?', lazily(batches)],
  capitalize: ['', onText(capitalize)],
  center: ['width?', onText((text, [width = 80n]) => pad(text, width, ' ', 'both'))],
  count: ['', lengthOf],
  d: ['default_value? boolean?', byDefault],
  default: ['default_value? boolean?', byDefault],
  dictsort: ['case_sensitive? by? reverse?', dictsort],
  e: ['', escaped],
  escape: ['', escaped],
  first: ['', first],
  float: ['default?', toFloat],
  forceescape: ['', (value) => escaped(String(str(value)))],
  groupby: ['attribute default? case_sensitive?', groupby],
  indent: ['width? first? blank?', indent],
  int: ['default? base?', toInt],
  items: ['', lazily(items)],
  join: ['d? attribute?', joined],
  last: ['', last],
  length: ['', lengthOf],
  list: ['', list],
  lower: ['', onText(lower)],
  max: ['case_sensitive? attribute?', extreme((order) => order > 0, 'max')],
  min: ['case_sensitive? attribute?', extreme((order) => order < 0, 'min')],
  pprint: ['', pprint],
  replace: ['old new count?', replaced],
  reverse: ['', reverse],
  round: ['precision? method?', round],
  safe: ['', (value) => new Markup(str(value))],
  slice: ['slices fill_with?', lazily(slices)],
  sort: ['reverse? case_sensitive? attribute?', sort],
  string: ['', str],
  striptags: ['', (value) => entityText(String(str(value)))],
  sum: ['attribute? start?', sum],
  title: ['', title],
  tojson: ['ensure_ascii? indent? separators? sort_keys?', tojson],
  trim: ['chars?', onText((text, [chars]) => strip(text, orNone(chars) === null ? undefined : String(chars), 'both'))],
  truncate: ['length? killwords? end? leeway?', truncate],
  unique: ['case_sensitive? attribute?', lazily(unique)],
  upper: ['', onText(upper)],
  urlencode: ['', (value) => (isMap(value) || (isList(value) && !isText(value)) ? inQuery(value) : inUrl(str(value)))],
  wordcount: ['', (value) => BigInt((str(value).match(/[\p{L}\p{N}_]+/gu) ?? []).length)],
  wordwrap: ['width? break_long_words? wrapstring? break_on_hyphens?', wrapped],
  xmlattr: ['autospace?', htmlAttributes],
};

const absolute = (value) => (isNumber(value) ? number(value) : fail(`abs needs a number, not ${typeName(value)}`));

/** Filters that take any arguments, and hand them on. */
const FREE = {
  format: (value, given, named) => {
    if (given.length > 0 && named.size > 0) fail('format takes values in order or by name, not both');
    return percentFormat(str(value), named.size > 0 ? named : tuple(given));
  },
  map,
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  select: selecting(true, false),
  selectattr: selecting(true, true),
};

const FILTERS = {
  ...FREE,
  ...Object.fromEntries(
    Object.entries(BOUND).map(([name, [parameters, filter]]) => [
      name,
      (value, given, named, environment) => filter(value, bound(name, parameters, given, named), environment),
    ]),
  ),
};

module.exports = { FILTERS };
