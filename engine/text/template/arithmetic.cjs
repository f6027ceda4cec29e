// Operators between values, as Python computes them.
const { fail, isList, isNumber, isText, known, number, tuple, typeName } = require('./values.cjs');
const { percentFormat } = require('./format.cjs');

/** Bits of the largest int, and items of the longest list that an operator makes. */
const MOST_BITS = 2 ** 16;
const MOST_ITEMS = 2 ** 24;
/** Decimals beyond which rounding changes no double that toFixed can write. */
const MOST_DECIMALS = 60;

/** @throws TemplateFault for values that the operator doesn't take */
function arithmetic(operator, one, other) {
  known(one);
  known(other);
  if (isNumber(one) && isNumber(other)) return numeric(operator, number(one), number(other));
  if (operator === '+') {
    if (isText(one) && isText(other)) return one + other;
    if (isList(one) && isList(other) && one.kind === other.kind)
      return one.kind === 'tuple' ? tuple([...one, ...other]) : [...one, ...other];
  }
  if (operator === '%' && isText(one)) return percentFormat(one, other);
  if (operator === '*') {
    const [items, count] = isNumber(one) ? [other, number(one)] : [one, number(other)];
    if ((isText(items) || isList(items)) && typeof count === 'bigint') return repeated(items, count);
  }
  return fail(`unsupported operand type(s) for ${operator}: '${typeName(one)}' and '${typeName(other)}'`);
}

function repeated(items, count) {
  const times = count < 0n ? 0 : Number(count);
  if (isText(items)) return items.repeat(times);
  if (items.length * times > MOST_ITEMS) fail(`a list of ${items.length * times} items is too long`);
  const all = Array.from({ length: times }, () => items).flat();
  return items.kind === 'tuple' ? tuple(all) : all;
}

function numeric(operator, one, other) {
  if (typeof one === 'bigint' && typeof other === 'bigint') return ofInts(operator, one, other);
  const [a, b] = [Number(one), Number(other)];
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
      return Math.floor(a / nonZero(b));
    case '%':
      return modulo(a, nonZero(b));
    default:
      return a ** b;
  }
}

function ofInts(operator, one, other) {
  switch (operator) {
    case '+':
      return one + other;
    case '-':
      return one - other;
    case '*':
      return bounded(bits(one) + bits(other), () => one * other);
    case '/':
      return Number(one) / Number(nonZero(other));
    case '//': {
      const quotient = one / nonZero(other);
      return quotient * other !== one && one < 0n !== other < 0n ? quotient - 1n : quotient;
    }
    case '%': {
      const rest = one % nonZero(other);
      return rest !== 0n && rest < 0n !== other < 0n ? rest + other : rest;
    }
    default:
      return other < 0n ? Number(one) ** Number(other) : bounded(bits(one) * Number(other), () => one ** other);
  }
}

const bits = (value) => (value < 0n ? -value : value).toString(16).length * 4;

function bounded(size, compute) {
  return size > MOST_BITS ? fail(`an int of about ${size} bits is too large`) : compute();
}

function modulo(a, b) {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

function nonZero(value) {
  return Number(value) === 0 ? fail('division by zero') : value;
}

function negated(value) {
  known(value);
  return isNumber(value) ? -number(value) : fail(`bad operand type for unary -: '${typeName(value)}'`);
}

/** The nearest number with so many decimals; of two the one with an even last digit. */
function rounded(value, decimals) {
  if (decimals < 0) return Math.round(value / 10 ** -decimals) * 10 ** -decimals;
  if (!Number.isFinite(value) || decimals > MOST_DECIMALS) return value;
  const near = value.toFixed(decimals);
  // toFixed takes the larger of two that are as near; all digits of a double show whether it had the choice.
  const exact = value.toFixed(100).replace('-', '');
  const isTie = /^50*$/.test(exact.slice(exact.indexOf('.') + 1 + decimals));
  if (!isTie || Number(near.at(-1)) % 2 === 0) return Number(near);
  const even = Math.abs(Number((Math.abs(value) - 10 ** -decimals * 0.75).toFixed(decimals)));
  return value < 0 ? -even : even;
}

module.exports = { arithmetic, negated, rounded };
