// Jinja's tests, `value is name(arguments)` (jinja2 3.1, tests.py).
const {
  areEqual,
  compare,
  contains,
  isList,
  isMap,
  isNumber,
  isText,
  known,
  number,
  Range,
  Undefined,
} = require('./values.cjs');

const orders = (symbol, holds) => (value, other) => holds(compare(value, other, symbol));
const isInt = (value) => typeof value === 'bigint';
const modulo = (value, divisor) => ((number(known(value)) % divisor) + divisor) % divisor;

const eq = (value, other) => areEqual(value, other);
const ne = (value, other) => !areEqual(value, other);
const lt = orders('<', (order) => order < 0);
const le = orders('<=', (order) => order <= 0);
const gt = orders('>', (order) => order > 0);
const ge = orders('>=', (order) => order >= 0);

const TESTS = {
  boolean: (value) => typeof value === 'boolean',
  callable: (value) => typeof value === 'function',
  defined: (value) => !(value instanceof Undefined),
  divisibleby: (value, divisor) => modulo(value, number(divisor)) === 0n,
  ...{ eq, equalto: eq, '==': eq, ne, '!=': ne, lt, lessthan: lt, '<': lt, le, '<=': le },
  ...{ gt, greaterthan: gt, '>': gt, ge, '>=': ge },
  escaped: () => false,
  even: (value) => modulo(value, 2n) === 0n,
  false: (value) => value === false,
  float: (value) => typeof value === 'number',
  in: (value, container) => contains(container, value),
  integer: isInt,
  iterable: (value) =>
    isText(value) || isMap(value) || isList(value) || value instanceof Range || value instanceof Undefined,
  lower: (value) => isText(value) && value === value.toLowerCase() && value !== value.toUpperCase(),
  mapping: isMap,
  none: (value) => value === null,
  number: isNumber,
  odd: (value) => modulo(value, 2n) === 1n,
  sameas: (value, other) => value === other,
  sequence: (value) =>
    isText(value) || isMap(value) || isList(value) || value instanceof Range || value instanceof Undefined,
  string: isText,
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
  upper: (value) => isText(value) && value === value.toUpperCase() && value !== value.toLowerCase(),
};

module.exports = { TESTS };
