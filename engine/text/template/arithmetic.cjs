// Operators between values, as Python computes them.
const { bitsOf, power } = require('./decimals.cjs');
const { percentFormat } = require('./format.cjs');
const { escaped, fail, isList, isMarkup, isNumber, isText, known, Markup, number, tuple, typeName } =
  require('./values.cjs');

/** Bits of the largest int, and items of the longest list that an operator makes. */
const MOST_BITS = 2 ** 16;
const MOST_ITEMS = 2 ** 24;
/** Exponent up to which powers of floats are computed exactly. */
const MOST_POWER = 1024;

/** @throws TemplateFault for values that the operator doesn't take */
function arithmetic(operator, one, other) {
  known(one);
  known(other);
  if (isNumber(one) && isNumber(other)) return numeric(operator, number(one), number(other));
  if (operator === '+') {
    if (isText(one) && isText(other))
      return isMarkup(one) || isMarkup(other) ? new Markup(escaped(one) + escaped(other)) : one + other;
    if (isList(one) && isList(other) && one.kind === other.kind && [undefined, 'tuple'].includes(one.kind))
      return one.kind === 'tuple' ? tuple([...one, ...other]) : [...one, ...other];
  }
  if (operator === '%' && isText(one)) return percentFormat(one, other);
  if (operator === '*') {
    const [items, count] = isNumber(one) ? [other, number(one)] : [one, number(other)];
    const isRepeatable = isText(items) || (isList(items) && [undefined, 'tuple'].includes(items.kind));
    if (isRepeatable && typeof count === 'bigint') return repeated(items, count);
  }
  return fail(`unsupported operand type(s) for ${operator}: '${typeName(one)}' and '${typeName(other)}'`);
}

function repeated(items, count) {
  const times = count < 0n ? 0 : Number(count);
  if (items.length * times > MOST_ITEMS)
    fail(`a ${typeName(items)} of ${items.length * times} items is too long; at most ${MOST_ITEMS} are allowed`);
  if (isMarkup(items)) return new Markup(items.repeat(times));
  if (isText(items)) return items.repeat(times);
  const all = Array.from({ length: times }, () => [...items]).flat(1);
  return items.kind === 'tuple' ? tuple(all) : all;
}

function numeric(operator, one, other) {
  if (typeof one === 'bigint' && typeof other === 'bigint') return ofInts(operator, one, other);
  const [a, b] = [double(one), double(other)];
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / nonZero(b);
    case '//':
      return floorDivided(a, nonZero(b));
    case '%':
      return modulo(a, nonZero(b));
    default:
      return raised(a, b);
  }
}

function ofInts(operator, one, other) {
  switch (operator) {
    case '+':
      return one + other;
    case '-':
      return one - other;
    case '*':
      return bounded(bitsOf(one) + bitsOf(other), () => one * other);
    case '/':
      return double(one) / double(nonZero(other));
    case '//': {
      const quotient = one / nonZero(other);
      return quotient * other !== one && one < 0n !== other < 0n ? quotient - 1n : quotient;
    }
    case '%': {
      const rest = one % nonZero(other);
      return rest !== 0n && rest < 0n !== other < 0n ? rest + other : rest;
    }
    default:
      return other < 0n ? raised(double(one), double(other)) : bounded(bitsOf(one) * Number(other), () => one ** other);
  }
}

function double(value) {
  const found = Number(value);
  return typeof value === 'bigint' && !Number.isFinite(found) ? fail('int too large to convert to float') : found;
}

function bounded(size, compute) {
  return size > MOST_BITS ? fail(`an int of about ${size} bits is too large`) : compute();
}

/** `a^b`. @throws TemplateFault where Python has a complex number, or digits that depend on its C library */
function raised(a, b) {
  if (a === 0 && b < 0) fail('0.0 cannot be raised to a negative power');
  if (b === 0 || a === 1 || a === 0 || !Number.isFinite(a) || !Number.isFinite(b)) return a === 1 ? 1 : a ** b;
  if (b === 0.5 && a > 0) return Math.sqrt(a);
  if (!Number.isInteger(b)) fail(`a power with the exponent ${b} is not supported`);
  const found = Math.abs(b) > MOST_POWER ? a ** b : power(a, b);
  return Number.isFinite(found) ? found : fail('Numerical result out of range');
}

function floorDivided(a, b) {
  const near = (a - modulo(a, b)) / b;
  if (near === 0) return Object.is(a / b, -0) || a / b < 0 ? -0 : 0;
  const below = Math.floor(near);
  return near - below > 0.5 ? below + 1 : below;
}

/** The rest has the divisor's sign. */
function modulo(a, b) {
  const rest = a % b;
  if (rest === 0) return b < 0 ? -0 : 0;
  return rest < 0 !== b < 0 ? rest + b : rest;
}

function nonZero(value) {
  return Number(value) === 0 ? fail('division by zero') : value;
}

function negated(value) {
  known(value);
  return isNumber(value) ? -number(value) : fail(`a ${typeName(value)} has no opposite number`);
}

module.exports = { arithmetic, negated };
