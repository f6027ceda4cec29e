// Functions that every template has: those of Jinja, and raise_exception and strftime_now of transformers.
const { TemplateFault } = require('./lexer.cjs');
const { fail, isMap, iterate, known, Namespace, number, Range, str, typeName } = require('./values.cjs');

/** Items of the longest range (jinja2's sandbox, MAX_RANGE). */
const MOST_RANGE = 100_000;

function whole(value) {
  const found = number(known(value));
  return typeof found === 'bigint' ? found : fail(`an integer is needed, not ${typeName(value)}`);
}

function range(given) {
  if (given.length === 0 || given.length > 3) fail(`range takes 1 to 3 numbers, not ${given.length}`);
  const [start, stop, step = 1n] = given.length === 1 ? [0n, whole(given[0])] : given.map(whole);
  if (step === 0n) fail('the step of a range is not 0');
  const found = new Range(start, stop, step);
  if (found.length > MOST_RANGE)
    fail(`a range of ${found.length} items is too long; at most ${MOST_RANGE} are allowed`);
  return found;
}

function dict(given, named) {
  const [first] = given;
  const entries =
    first === undefined ? [] : isMap(first) ? first : [...iterate(first)].map((pair) => [...iterate(pair)]);
  return new Map([...entries, ...named]);
}

function cycler(given) {
  if (given.length === 0) fail('cycler needs at least one item');
  let at = 0;
  const attributes = {
    next: () => given[at++ % given.length],
    reset: () => {
      at = 0;
      return null;
    },
    get current() {
      return given[at % given.length];
    },
  };
  return Object.assign(() => fail('a cycler is asked by its next()'), { attributes });
}

function joiner(given) {
  let isFirst = true;
  return () => {
    const text = isFirst ? '' : (given[0] ?? ', ');
    isFirst = false;
    return text;
  };
}

/** A fault that the template declares itself: its message is the whole reason. */
function raise(given) {
  throw new TemplateFault(str(given[0]), null);
}

const two = (value) => String(value).padStart(2, '0');
const named = (date, options) => date.toLocaleString('en-US', options);
const dayOfYear = (date) => Math.round((date - new Date(date.getFullYear(), 0, 1)) / 86_400_000) + 1;

/** By letter: the parts of a date (C's strftime). */
const PARTS = {
  a: (date) => named(date, { weekday: 'short' }),
  A: (date) => named(date, { weekday: 'long' }),
  b: (date) => named(date, { month: 'short' }),
  B: (date) => named(date, { month: 'long' }),
  d: (date) => two(date.getDate()),
  e: (date) => String(date.getDate()).padStart(2),
  F: (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  m: (date) => two(date.getMonth() + 1),
  M: (date) => two(date.getMinutes()),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  S: (date) => two(date.getSeconds()),
  T: (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
  y: (date) => two(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  '%': () => '%',
};

function strftimeNow([pattern]) {
  const now = new Date();
  return str(pattern).replaceAll(/%(-?)([a-zA-Z%])/g, (all, sign, letter) => {
    const text = PARTS[letter]?.(now);
    if (text === undefined) return all;
    return sign === '-' ? text.replace(/^[0 ]+(?=.)/, '') : text;
  });
}

const GLOBALS = {
  ...{ range, dict, cycler, joiner },
  namespace: (given, values) => new Namespace(dict(given, values)),
  raise_exception: raise,
  strftime_now: strftimeNow,
};

module.exports = { GLOBALS };
