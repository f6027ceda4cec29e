// Jinja's filters, `value|name(arguments)` (jinja2 3.1, filters.py; tojson as in transformers). Each gets the value, the
// arguments by place and by name, and the environment: how attributes are read and other filters and tests are found.
const { arithmetic, rounded } = require('./arithmetic.cjs');
const { percentFormat } = require('./format.cjs');
const { argument, capitalize, pad, replace, splitLines, strip } = require('./methods.cjs');
const {
  areEqual,
  characters,
  compare,
  contains,
  fail,
  isList,
  isMap,
  isNumber,
  isText,
  isTrue,
  iterate,
  json,
  known,
  lengthOf,
  number,
  repr,
  str,
  tuple,
  Undefined,
  withKind,
} = require('./values.cjs');

const list = (value) => [...iterate(value)];
const ignoringCase = (value) => (isText(value) ? value.toLowerCase() : value);
const noValue = (what) => new Undefined(`No ${what} item, sequence was empty.`);

/** A function that reads an attribute such as `a.b.0`. */
function attributeGetter(environment, attribute, fallback) {
  const parts = typeof attribute === 'bigint' ? [attribute] : isText(attribute) ? attribute.split('.') : [];
  const keys = parts.map((part) => (/^\d+$/.test(String(part)) ? BigInt(part) : part));
  return (value) => {
    const found = keys.reduce((now, key) => environment.item(now, key), value);
    return found instanceof Undefined && fallback !== undefined ? fallback : found;
  };
}

/** Key by which items are compared. */
function keyGetter(environment, attribute, isCaseSensitive) {
  const read = attribute === undefined || attribute === null ? (one) => one : attributeGetter(environment, attribute);
  return (one) => (isCaseSensitive ? read(one) : ignoringCase(read(one)));
}

const sortedBy = (items, key, isReversed) => {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  keyed.sort((a, b) => (isReversed ? compare(b.key, a.key) : compare(a.key, b.key)));
  return keyed.map(({ item }) => item);
};

const extreme = (isBetter, what) => (value, given, named, environment) => {
  const key = keyGetter(
    environment,
    argument(given, named, 1, 'attribute'),
    argument(given, named, 0, 'case_sensitive', false),
  );
  const items = list(value);
  if (items.length === 0) return noValue(what);
  return items.reduce((best, one) => (isBetter(compare(key(one), key(best))) ? one : best));
};

/** Items of which a test holds, or doesn't; without a test, those that are true. */
const selecting = (isWanted, hasAttribute) => (value, given, named, environment) => {
  const [name, ...others] = hasAttribute ? given.slice(1) : given;
  const read = hasAttribute ? attributeGetter(environment, given[0]) : (one) => one;
  const test = name === undefined ? isTrue : environment.test(name, others, named);
  return list(value).filter((one) => test(read(one)) === isWanted);
};

function map(value, given, named, environment) {
  if (given.length === 0 && named.has('attribute'))
    return list(value).map(attributeGetter(environment, named.get('attribute'), named.get('default')));
  const [name, ...others] = given;
  return list(value).map((one) => environment.filter(name, one, others, named));
}

function toInt(value, given, named) {
  const fallback = argument(given, named, 0, 'default', 0n);
  if (isNumber(value))
    return typeof value === 'number' ? (Number.isFinite(value) ? BigInt(Math.trunc(value)) : fallback) : number(value);
  if (!isText(value)) return fallback;
  const text = strip(value).replaceAll('_', '');
  const base = Number(argument(given, named, 1, 'base', 10n));
  const digits = text.replace(/^([-+]?)0[xX]/, base === 16 ? '$1' : '$&');
  if (base === 10 && /^[-+]?\d+$/.test(text)) return BigInt(text);
  if (base !== 10 && /^[-+]?[0-9a-zA-Z]+$/.test(digits)) {
    const parsed = Number.parseInt(digits, base);
    return Number.isNaN(parsed) ? fallback : BigInt(parsed);
  }
  const float = toFloat(value, [Number.NaN], new Map());
  return Number.isFinite(float) ? BigInt(Math.trunc(float)) : fallback;
}

function toFloat(value, given, named) {
  const fallback = argument(given, named, 0, 'default', 0);
  if (isNumber(value)) return Number(value);
  const text = isText(value) ? strip(value).replaceAll('_', '') : '';
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
  return /^[-+]?(?:inf|infinity)$/i.test(text) ? (text.startsWith('-') ? -Infinity : Infinity) : fallback;
}

function round(value, given, named) {
  const decimals = Number(argument(given, named, 0, 'precision', 0n));
  const method = argument(given, named, 1, 'method', 'common');
  if (!isNumber(known(value))) fail('round needs a number');
  if (method === 'common') return typeof value === 'number' ? rounded(value, decimals) : number(value);
  const scale = 10 ** decimals;
  return (method === 'ceil' ? Math.ceil : Math.floor)(Number(value) * scale) / scale;
}

function indent(value, given, named) {
  const width = argument(given, named, 0, 'width', 4n);
  const space = isText(width) ? width : ' '.repeat(Number(width));
  const [first, blank] = [argument(given, named, 1, 'first', false), argument(given, named, 2, 'blank', false)];
  // jinja2 appends a line break, so that the last one isn't lost.
  const lines = splitLines(`${str(value)}\n`, false);
  const [head = '', ...others] = lines;
  const rest = others.map((line) => `\n${line === '' && !isTrue(blank) ? '' : space}${line}`).join('');
  return (isTrue(first) ? space : '') + head + rest;
}

function tojson(value, given, named) {
  const ascii = argument(given, named, 0, 'ensure_ascii', false);
  const wide = argument(given, named, 1, 'indent', null);
  const separators = argument(given, named, 2, 'separators', null);
  return json(value, {
    isAscii: isTrue(ascii),
    indent: wide === null ? undefined : isText(wide) ? wide : ' '.repeat(Number(wide)),
    separators: separators ?? undefined,
    isSorted: isTrue(argument(given, named, 3, 'sort_keys', false)),
  });
}

function groupby(value, given, named, environment) {
  const attribute = argument(given, named, 0, 'attribute');
  const read = attributeGetter(environment, attribute, named.get('default'));
  const key = (one) => (argument(given, named, 2, 'case_sensitive', false) ? read(one) : ignoringCase(read(one)));
  const groups = [];
  for (const one of sortedBy(list(value), key, false)) {
    const last = groups.at(-1);
    if (last !== undefined && areEqual(key(last[1][0]), key(one))) last[1].push(one);
    else groups.push([read(one), [one]]);
  }
  return groups.map(([grouper, items]) => Object.assign(tuple([grouper, items]), { grouper, list: items }));
}

function unique(value, given, named, environment) {
  const key = keyGetter(
    environment,
    argument(given, named, 1, 'attribute'),
    argument(given, named, 0, 'case_sensitive', false),
  );
  const seen = [];
  return list(value).filter((one) => {
    const own = key(one);
    if (contains(seen, own)) return false;
    seen.push(own);
    return true;
  });
}

function batches(value, given, named) {
  const size = Number(argument(given, named, 0, 'linecount'));
  const fill = argument(given, named, 1, 'fill_with', null);
  const items = list(value);
  const found = [];
  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));
  const last = found.at(-1);
  if (fill !== null && last !== undefined) while (last.length < size) last.push(fill);
  return found;
}

function slices(value, given, named) {
  const count = Number(argument(given, named, 0, 'slices'));
  const fill = argument(given, named, 1, 'fill_with', null);
  const items = list(value);
  const [size, more] = [Math.floor(items.length / count), items.length % count];
  let at = 0;
  return Array.from({ length: count }, (_, index) => {
    const part = items.slice(at, at + size + (index < more ? 1 : 0));
    at += part.length;
    if (fill !== null && index >= more && more > 0) part.push(fill);
    return part;
  });
}

function truncate(value, given, named) {
  const text = characters(str(value));
  const [length, end] = [Number(argument(given, named, 0, 'length', 255n)), argument(given, named, 2, 'end', '...')];
  const leeway = Number(argument(given, named, 3, 'leeway', 5n));
  if (text.length <= length + leeway) return text.join('');
  const cut = text.slice(0, length - characters(end).length).join('');
  if (isTrue(argument(given, named, 1, 'killwords', false))) return cut + end;
  const space = cut.lastIndexOf(' ');
  return (space < 0 ? cut : cut.slice(0, space)) + end;
}

const ESCAPED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', "'": '&#39;', '"': '&#34;' };
const escaped = (value) => str(value).replaceAll(/[&<>'"]/g, (letter) => ESCAPED[letter]);
const byDefault = (value, given, named) => {
  const isMissing = isTrue(argument(given, named, 1, 'boolean', false)) ? !isTrue(value) : value instanceof Undefined;
  return isMissing ? argument(given, named, 0, 'default_value', '') : value;
};
const title = (value) =>
  str(value)
    .split(/([-\s({[<]+)/)
    .map((part) => capitalize(part))
    .join('');

/** Characters of a line of Python's pprint, which divides longer texts. */
const LINE = 80;
/** A value whose maps have their keys in order. */
function inOrder(value) {
  if (isMap(value))
    return new Map(sortedBy([...value], ([key]) => key, false).map(([key, own]) => [key, inOrder(own)]));
  return isList(value) ? withKind(value.map(inOrder), value.kind) : value;
}

const FILTERS = {
  abs: (value) => (compare(number(known(value)), 0n) < 0 ? -number(value) : number(value)),
  attr: (value, [name], _named, environment) => environment.attribute(value, name, false),
  batch: batches,
  capitalize: (value) => capitalize(str(value)),
  center: (value, given, named) => pad(str(value), argument(given, named, 0, 'width', 80n), ' ', 'both'),
  count: lengthOf,
  length: lengthOf,
  d: byDefault,
  default: byDefault,
  e: escaped,
  escape: escaped,
  forceescape: escaped,
  dictsort(value, given, named) {
    const by = argument(given, named, 1, 'by', 'key') === 'value' ? 1 : 0;
    const isCaseSensitive = isTrue(argument(given, named, 0, 'case_sensitive', false));
    const key = (pair) => (isCaseSensitive ? pair[by] : ignoringCase(pair[by]));
    return sortedBy([...value].map(tuple), key, isTrue(argument(given, named, 2, 'reverse', false)));
  },
  first: (value) => {
    for (const one of iterate(value)) return one;
    return noValue('first');
  },
  float: toFloat,
  format: (value, given, named) => percentFormat(str(value), named.size > 0 ? named : tuple(given)),
  groupby,
  indent,
  int: toInt,
  items(value) {
    if (value instanceof Undefined) return [];
    return isMap(value) ? [...value].map(tuple) : fail('Can only get item pairs from a mapping.');
  },
  join(value, given, named, environment) {
    const attribute = argument(given, named, 1, 'attribute');
    const items = list(value);
    const read = attribute === undefined ? items : items.map(attributeGetter(environment, attribute));
    return read.map(str).join(str(argument(given, named, 0, 'd', '')));
  },
  last: (value) => list(value).at(-1) ?? noValue('last'),
  list,
  lower: (value) => str(value).toLowerCase(),
  map,
  max: extreme((order) => order > 0, 'max'),
  min: extreme((order) => order < 0, 'min'),
  pprint: (value) => {
    const text = repr(inOrder(value));
    if (text.length > LINE) fail(`pprint of ${text.length} characters is not supported; a line has ${LINE}`);
    return text;
  },
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  replace: (value, given, named) => {
    const count = argument(given, named, 2, 'count', null);
    const [from, to] = [argument(given, named, 0, 'old'), argument(given, named, 1, 'new')];
    return replace(str(value), str(from), str(to), count === null ? undefined : Number(count));
  },
  reverse: (value) => (isText(value) ? characters(value).toReversed().join('') : list(value).toReversed()),
  round,
  safe: str,
  select: selecting(true, false),
  selectattr: selecting(true, true),
  slice: slices,
  sort(value, given, named, environment) {
    const isReversed = isTrue(argument(given, named, 0, 'reverse', false));
    const isCaseSensitive = isTrue(argument(given, named, 1, 'case_sensitive', false));
    const attributes = argument(given, named, 2, 'attribute', null);
    const keys = (attributes === null ? [undefined] : String(attributes).split(',')).map((attribute) =>
      keyGetter(environment, attribute, isCaseSensitive),
    );
    return sortedBy(list(value), (one) => keys.map((key) => key(one)), isReversed);
  },
  string: str,
  striptags: (value) =>
    str(value)
      .replaceAll(/<!--.*?-->|<[^>]*>/gs, '')
      .split(/\s+/)
      .filter(Boolean)
      .join(' '),
  sum(value, given, named, environment) {
    const attribute = argument(given, named, 0, 'attribute', null);
    const items = attribute === null ? list(value) : list(value).map(attributeGetter(environment, attribute));
    return items.reduce((sum, one) => arithmetic('+', sum, one), argument(given, named, 1, 'start', 0n));
  },
  title,
  tojson,
  trim: (value, given, named) => strip(str(value), argument(given, named, 0, 'chars'), 'both'),
  truncate,
  unique,
  upper: (value) => str(value).toUpperCase(),
  urlencode: (value) =>
    isMap(value)
      ? [...value].map(([key, own]) => `${inQuery(key)}=${inQuery(own)}`).join('&')
      : encoded(value).replaceAll('%2F', '/'),
  wordcount: (value) => BigInt((str(value).match(/[\p{L}\p{N}_]+/gu) ?? []).length),
};

const encoded = (value) =>
  encodeURIComponent(str(value)).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
const inQuery = (value) => encoded(value).replaceAll('%20', '+');

module.exports = { FILTERS };
