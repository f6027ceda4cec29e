// Python's values in JavaScript: int as bigint, float as number, str as string, bool, None as null, list as array, tuple,
// dict views and generators as arrays with a `kind`, dict as Map, and what Jinja adds: Undefined, Namespace, Markup.
const { TemplateFault } = require('./lexer.cjs');

/** A value that is missing; printed it is empty, and most of what is done with it is a mistake. */
class Undefined {
  constructor(problem) {
    this.problem = problem;
  }
}

class Namespace {
  constructor(values) {
    this.values = values;
  }
}

/** Python's range. */
class Range {
  constructor(start, stop, step) {
    Object.assign(this, { start, stop, step });
  }

  get length() {
    const { start, stop, step } = this;
    const [span, size] = step > 0n ? [stop - start, step] : [start - stop, -step];
    return span <= 0n ? 0 : Number((span - 1n) / size + 1n);
  }

  *[Symbol.iterator]() {
    for (let value = this.start; this.step > 0n ? value < this.stop : value > this.stop; value += this.step)
      yield value;
  }
}

/** Text that the filters `safe` and `e` mark as escaped: text that joins it by `+`, `%`, `format` or `join` is escaped. */
class Markup extends String {}

const withKind = (kind, items) => Object.assign([...items], { kind });
const tuple = (items) => withKind('tuple', items);
/** Items that can be gone through once, and are made (or refused) only then. @param make gives an array */
const generator = (make) => Object.assign(withKind('generator', []), { make, items: undefined });

/** The next so many items of a generator, or all that are left. */
function taken(source, count) {
  source.items ??= source.make();
  return source.items.splice(0, count ?? source.items.length);
}

const fail = (message) => {
  throw new TemplateFault(message);
};

/** @throws TemplateFault for a value that is missing */
function known(value) {
  if (value instanceof Undefined) fail(value.problem);
  return value;
}

const isMarkup = (value) => value instanceof Markup;
const isText = (value) => typeof value === 'string' || isMarkup(value);
const isNumber = (value) => typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';
const isMap = (value) => value instanceof Map;
const isList = (value) => Array.isArray(value);

/** Values of JSON as Python's `json.loads` has them. */
function fromJson(value) {
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value;
  if (isList(value)) return value.map(fromJson);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, own]) => [key, fromJson(own)]));
}

function typeName(value) {
  if (value === null) return 'NoneType';
  if (isList(value)) return value.kind ?? 'list';
  if (isMap(value)) return 'dict';
  if (isMarkup(value)) return 'Markup';
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Namespace) return 'Namespace';
  if (value instanceof Range) return 'range';
  return (
    { string: 'str', bigint: 'int', number: 'float', boolean: 'bool', function: 'function' }[typeof value] ?? 'object'
  );
}

function isTrue(value) {
  if (value instanceof Undefined || value === null) return false;
  if (isList(value) && value.kind === 'generator') return true;
  if (isText(value) || isList(value) || value instanceof Range) return value.length > 0;
  if (isMap(value)) return value.size > 0;
  return isNumber(value) ? Boolean(value) : true;
}

/** A bool as int. */
const number = (value) => (typeof value === 'boolean' ? BigInt(value) : value);

function areEqual(one, other) {
  // biome-ignore lint/suspicious/noDoubleEquals: of an int and a float, which have different types here
  if (isNumber(one) && isNumber(other)) return number(one) == number(other);
  if (isText(one) && isText(other)) return String(one) === String(other);
  if (one instanceof Undefined) return other instanceof Undefined;
  if (one instanceof Range && other instanceof Range) return areEqual([...one], [...other]);
  if (isList(one) && isList(other)) return areListsEqual(one, other);
  if (isMap(one) && isMap(other))
    return (
      one.size === other.size && [...one].every(([key, value]) => other.has(key) && areEqual(value, other.get(key)))
    );
  return one === other;
}

const isSet = ({ kind }) => kind === 'dict_keys' || kind === 'dict_items';

function areListsEqual(one, other) {
  if (isSet(one) && isSet(other))
    return one.length === other.length && one.every((value) => other.some((own) => areEqual(value, own)));
  if (one.kind !== other.kind || ![undefined, 'tuple'].includes(one.kind)) return one === other;
  return one.length === other.length && one.every((value, index) => areEqual(value, other[index]));
}

/** Below 0: `one` comes first. @throws TemplateFault for values that have no order */
function compare(one, other, operator = '<') {
  if (isNumber(one) && isNumber(other)) {
    const [a, b] = [number(one), number(other)];
    return a < b ? -1 : a > b ? 1 : a === b || Number(a) === Number(b) ? 0 : Number.NaN;
  }
  if (isText(one) && isText(other)) return compareTexts(String(one), String(other));
  if (isList(one) && isList(other) && one.kind === other.kind && [undefined, 'tuple'].includes(one.kind)) {
    for (const [index, value] of one.entries()) {
      if (index >= other.length) return 1;
      if (!areEqual(value, other[index])) return compare(value, other[index], operator);
    }
    return one.length - other.length;
  }
  known(one);
  known(other);
  return fail(`'${operator}' not supported between instances of '${typeName(one)}' and '${typeName(other)}'`);
}

/** By code points. */
function compareTexts(one, other) {
  if (!/[\ud800-\uffff]/.test(one + other)) return one < other ? -1 : one > other ? 1 : 0;
  const [a, b] = [[...one], [...other]];
  const at = a.findIndex((letter, index) => letter !== b[index]);
  if (at < 0) return a.length - b.length;
  return at >= b.length ? 1 : a[at].codePointAt(0) - b[at].codePointAt(0);
}

/** Characters of a text, in Python's sense. */
function characters(text) {
  return /[\ud800-\udfff]/.test(text) ? [...text] : text.split('');
}

/** Items that a loop goes through. @throws TemplateFault for values that have no items */
function iterate(value) {
  if (value instanceof Undefined) return [];
  if (isText(value)) return characters(value);
  if (isMap(value)) return [...value.keys()];
  if (isList(value) && value.kind === 'generator') return taken(value);
  if (isList(value) || value instanceof Range) return value;
  return fail(`'${typeName(value)}' object is not iterable`);
}

function lengthOf(value) {
  if (value instanceof Undefined) return 0n;
  if (isText(value)) return BigInt(characters(value).length);
  if (isMap(value)) return BigInt(value.size);
  if ((isList(value) && value.kind !== 'generator') || value instanceof Range) return BigInt(value.length);
  return fail(`object of type '${typeName(value)}' has no len()`);
}

function contains(container, value) {
  if (isText(container)) {
    if (isText(value)) return container.includes(value);
    known(value);
    return fail(`'in <string>' requires string as left operand, not ${typeName(value)}`);
  }
  if (isMap(container)) return container.has(keyOf(value));
  if (container instanceof Undefined) return false;
  for (const one of iterate(container)) if (areEqual(one, value)) return true;
  return false;
}

/** A dict's key: whole floats and bools are ints. */
function keyOf(value) {
  if (typeof value === 'boolean') return BigInt(value);
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (isList(value) && value.kind === 'tuple') fail('a tuple as a key is not supported');
  if (isMap(value) || isList(value)) fail(`a ${typeName(value)} is no key`);
  return isMarkup(value) ? String(value) : value;
}

const ESCAPED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', "'": '&#39;', '"': '&#34;' };

/** Text without marks of HTML; what is marked as escaped stays. @returns Markup */
function escaped(value) {
  return isMarkup(value) ? value : new Markup(str(value).replaceAll(/[&<>'"]/g, (letter) => ESCAPED[letter]));
}

/** Text that `str` writes. */
function str(value) {
  return isText(value) ? value : value instanceof Undefined ? '' : repr(value);
}

/** Text that `repr` writes. */
function repr(value) {
  if (value === null) return 'None';
  if (isMarkup(value)) return `Markup(${quoted(String(value))})`;
  if (isText(value)) return quoted(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return floatText(value);
  if (isMap(value)) return `{${[...value].map(([key, own]) => `${repr(key)}: ${repr(own)}`).join(', ')}}`;
  if (isList(value)) return listText(value);
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Namespace) return `<Namespace ${repr(value.values)}>`;
  if (value instanceof Range) {
    const { start, stop, step } = value;
    return `range(${start}, ${stop}${step === 1n ? '' : `, ${step}`})`;
  }
  return typeof value === 'function' ? (value.attributes?.shown ?? `<function ${value.name}>`) : String(value);
}

/** Text that Python's `ascii` writes. */
function ascii(value) {
  return repr(value).replaceAll(/[\u0080-\u{10ffff}]/gu, escapedCharacter);
}

function listText(list) {
  const items = list.map(repr).join(', ');
  switch (list.kind) {
    case undefined:
      return `[${items}]`;
    case 'generator':
      return '<generator object>';
    case 'tuple':
      return list.length === 1 ? `(${items},)` : `(${items})`;
    default:
      return `${list.kind}([${items}])`;
  }
}

/** A float as Python's repr writes it: the shortest digits, with an exponent below 1e-4 and from 1e16 on. */
function floatText(value) {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [digits, exponentText] = Math.abs(value).toExponential().split('e');
  const exponent = Number(exponentText);
  if (value !== 0 && (exponent < -4 || exponent >= 16))
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  const text = String(Math.abs(value));
  return sign + (text.includes('.') ? text : `${text}.0`);
}

const SPELLED = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(/[\\\n\r\t'"]|(?! )[\p{C}\p{Z}]/gu, (letter) => {
    if (letter === "'" || letter === '"') return letter === quote ? `\\${letter}` : letter;
    return SPELLED[letter] ?? escapedCharacter(letter);
  });
  return quote + escaped + quote;
}

function escapedCharacter(letter) {
  const code = letter.codePointAt(0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\U${code.padStart(8, '0')}`;
}

/** Text that Python's `json.dumps` writes. @param options ensure_ascii, indent, separators, sort_keys */
function json(value, options = {}, depth = 0) {
  const { isAscii = false, indent, separators = [indent === undefined ? ', ' : ',', ': '], isSorted = false } = options;
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? floatText(value) : jsonExtremes(value);
  if (isText(value)) return jsonText(String(value), isAscii);
  const [comma, colon] = separators;
  const lines = (brackets, items) => {
    if (items.length === 0) return brackets;
    if (indent === undefined) return brackets[0] + items.join(comma) + brackets[1];
    const [own, outer] = [indent.repeat(depth + 1), indent.repeat(depth)];
    return `${brackets[0]}\n${own}${items.join(`${comma}\n${own}`)}\n${outer}${brackets[1]}`;
  };
  if (isList(value) && [undefined, 'tuple'].includes(value.kind))
    return lines(
      '[]',
      value.map((one) => json(one, options, depth + 1)),
    );
  if (isMap(value)) {
    const entries = isSorted ? [...value].sort(([a], [b]) => compare(a, b)) : [...value];
    const pairs = entries.map(([key, own]) => {
      const name = isText(key)
        ? key
        : key === null || isNumber(key)
          ? json(key)
          : fail(`keys must be str, not ${typeName(key)}`);
      return jsonText(name, isAscii) + colon + json(own, options, depth + 1);
    });
    return lines('{}', pairs);
  }
  return fail(`Object of type ${typeName(value)} is not JSON serializable`);
}

const jsonExtremes = (value) => (Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity');

function jsonText(text, isAscii) {
  // JSON.stringify also escapes lone surrogates, which no text from JSON has.
  const written = JSON.stringify(text);
  if (!isAscii) return written;
  return written.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Items of a list or characters of a text from `start` to `stop`, with Python's rules for numbers that are out of it. */
function sliced(value, start, stop, step) {
  const items = isText(value) ? characters(value) : value instanceof Range ? [...value] : value;
  for (const one of [start, stop, step])
    if (one !== undefined && one !== null && typeof number(one) !== 'bigint')
      fail('slice indices must be integers or None or have an __index__ method');
  const stride = step === undefined || step === null ? 1 : Number(step);
  if (stride === 0) fail('slice step cannot be zero');
  const { length } = items;
  const bound = (given, fallback) => {
    if (given === undefined || given === null) return fallback;
    const from = Number(given) < 0 ? Number(given) + length : Number(given);
    return stride > 0 ? Math.min(Math.max(from, 0), length) : Math.min(Math.max(from, -1), length - 1);
  };
  const [from, to] = stride > 0 ? [bound(start, 0), bound(stop, length)] : [bound(start, length - 1), bound(stop, -1)];
  if (value instanceof Range) {
    const at = (index) => value.start + value.step * BigInt(index);
    return new Range(at(from), at(to), value.step * BigInt(stride));
  }
  const found = [];
  for (let index = from; stride > 0 ? index < to : index > to; index += stride) found.push(items[index]);
  if (isMarkup(value)) return new Markup(found.join(''));
  if (isText(value)) return found.join('');
  return value.kind === 'tuple' ? tuple(found) : found;
}

module.exports = {
  ...{ Markup, Namespace, Range, Undefined },
  ...{
    areEqual,
    ascii,
    characters,
    compare,
    contains,
    escaped,
    fail,
    fromJson,
    generator,
    isList,
    isMap,
    isMarkup,
    isNumber,
    isText,
    isTrue,
    iterate,
    json,
  },
  ...{ keyOf, known, lengthOf, number, repr, sliced, str, taken, tuple, typeName, withKind },
};
