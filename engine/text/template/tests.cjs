// Jinja's tests, `value is name(arguments)` (jinja2 3.1, tests.py), with the number of their arguments.
const { arithmetic } = require('./arithmetic.cjs');
const { isLower, isUpper } = require('./letters.cjs');
const { bound } = require('./methods.cjs');
const {
  areEqual,
  compare,
  contains,
  isList,
  isMap,
  isMarkup,
  isNumber,
  isText,
  known,
  Range,
  str,
  Undefined,
} = require('./values.cjs');

const orders =
  (symbol, holds) =>
  (value, [other]) =>
    holds(compare(value, other, symbol));
const hasRest = (value, divisor, rest) => areEqual(arithmetic('%', known(value), divisor), rest);
const isIterable = (value) =>
  isText(value) || isMap(value) || isList(value) || value instanceof Range || value instanceof Undefined;

const eq = (value, [other]) => areEqual(value, other);
const ne = (value, [other]) => !areEqual(value, other);
const lt = orders('<', (order) => order < 0);
const le = orders('<=', (order) => order <= 0);
const gt = orders('>', (order) => order > 0);
const ge = orders('>=', (order) => order >= 0);

const OF_ONE = {
  boolean: (value) => typeof value === 'boolean',
  callable: (value) => typeof value === 'function' || value instanceof Undefined,
  defined: (value) => !(value instanceof Undefined),
  escaped: isMarkup,
  even: (value) => hasRest(value, 2n, 0n),
  false: (value) => value === false,
  float: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'bigint',
  iterable: isIterable,
  lower: (value) => isLower(String(str(value))),
  mapping: isMap,
  none: (value) => value === null,
  number: isNumber,
  odd: (value) => hasRest(value, 2n, 1n),
  sequence: (value) => isIterable(value) && [undefined, 'tuple'].includes(value.kind),
  string: isText,
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
  upper: (value) => isUpper(String(str(value))),
};

const OF_TWO = {
  divisibleby: (value, [divisor]) => hasRest(value, divisor, 0n),
  ...{ eq, equalto: eq, '==': eq, ne, '!=': ne, lt, lessthan: lt, '<': lt, le, '<=': le },
  ...{ gt, greaterthan: gt, '>': gt, ge, '>=': ge },
  in: (value, [container]) => contains(container, value),
  sameas: (value, [other]) => value === other,
};

const withParameters = (tests, parameters) =>
  Object.entries(tests).map(([name, test]) => [
    name,
    (value, given, named) => test(value, bound(`the test ${name}`, parameters, given, named)),
  ]);

/** By name: a function of a value, arguments by place and by name. */
const TESTS = Object.fromEntries([...withParameters(OF_ONE, ''), ...withParameters(OF_TWO, 'other')]);

module.exports = { TESTS };
