// Expressions of a template, by the grammar of jinja2 3.1 (parser.py).
const { TemplateFault } = require('./lexer.cjs');
const { shown } = require('./token-reader.cjs');

const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='];
const ESCAPES = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', a: '\x07', 0: '\0', '\n': '' };
const CONSTANTS = { true: true, True: true, false: false, False: false, none: null, None: null };

/**
 * @param reader of token-reader.cjs
 * @param onName called with each name that is read
 * @returns functions that read an expression, a tuple, an operand, and filters
 */
function expressionsOf(reader, onName) {
  const { expect, fail, is, isName, isOperator, next, node, peek, skip } = reader;
  return { expression, filterChain, tuple, unary };

  /** One expression, or several with commas between them. */
  function tuple({ isConditional = true } = {}) {
    const one = () => (isConditional ? expression() : or());
    const { line } = peek();
    const first = one();
    if (!isOperator(',')) return first;
    const items = [first];
    while (skip('operator', ',')) {
      if (is('end variable') || is('end block') || isOperator(')')) break;
      items.push(one());
    }
    return node('tuple', { items }, line);
  }

  function expression() {
    let value = or();
    while (isName('if')) {
      const { line } = next();
      const condition = or();
      const otherwise = skip('name', 'else') ? expression() : undefined;
      value = node('conditional', { condition, value, otherwise }, line);
    }
    return value;
  }

  function binary(operand, type, isOne) {
    let left = operand();
    while (isOne()) {
      const { value: operator, line } = next();
      left = node(type, { operator, left, right: operand() }, line);
    }
    return left;
  }

  function or() {
    return binary(and, 'or', () => isName('or'));
  }

  function and() {
    return binary(not, 'and', () => isName('and'));
  }

  function not() {
    if (!isName('not')) return comparison();
    const { line } = next();
    return node('not', { value: not() }, line);
  }

  function comparison() {
    const { line } = peek();
    const first = sum();
    const others = [];
    for (;;) {
      if (is('operator') && COMPARISONS.includes(peek().value)) others.push({ operator: next().value, value: sum() });
      else if (skip('name', 'in')) others.push({ operator: 'in', value: sum() });
      else if (isName('not') && peek(1).kind === 'name' && peek(1).value === 'in') {
        next();
        next();
        others.push({ operator: 'not in', value: sum() });
      } else break;
    }
    return others.length === 0 ? first : node('comparison', { first, others }, line);
  }

  function sum() {
    return binary(concatenation, 'arithmetic', () => isOperator('+') || isOperator('-'));
  }

  function concatenation() {
    const { line } = peek();
    const parts = [product()];
    while (skip('operator', '~')) parts.push(product());
    return parts.length === 1 ? parts[0] : node('concatenation', { parts }, line);
  }

  function product() {
    return binary(power, 'arithmetic', () => ['*', '/', '//', '%'].some(isOperator));
  }

  function power() {
    return binary(unary, 'arithmetic', () => isOperator('**'));
  }

  function unary(hasFilters = true) {
    const { line } = peek();
    let value;
    if (isOperator('-') || isOperator('+')) value = node('sign', { operator: next().value, value: unary(false) }, line);
    else value = postfix(primary());
    return hasFilters ? filtered(value) : value;
  }

  function primary() {
    const token = next();
    const { kind, value, line } = token;
    if (kind === 'name') {
      if (Object.hasOwn(CONSTANTS, value)) return node('constant', { value: CONSTANTS[value] }, line);
      onName(value);
      return node('name', { name: value }, line);
    }
    if (kind === 'text') {
      let text = unescaped(value, line);
      while (is('text')) text += unescaped(next().value, line);
      return node('constant', { value: text }, line);
    }
    if (kind === 'number') {
      const digits = value.replaceAll('_', '');
      const isFloat = /^\d+(?:\.|\d*[eE])/.test(digits);
      return node('constant', { value: isFloat ? Number(digits) : BigInt(digits) }, line);
    }
    if (kind === 'operator' && value === '(') {
      if (skip('operator', ')')) return node('tuple', { items: [] }, line);
      const inner = tuple();
      expect('operator', ')');
      return inner;
    }
    if (kind === 'operator' && value === '[') return node('list', { items: listUntil(']', expression) }, line);
    if (kind === 'operator' && value === '{') {
      const pair = () => {
        const key = expression();
        expect('operator', ':');
        return { key, value: expression() };
      };
      return node('dict', { pairs: listUntil('}', pair) }, line);
    }
    return fail(`unexpected ${shown(token)}`, line);
  }

  function listUntil(end, item) {
    const items = [];
    while (!isOperator(end)) {
      if (items.length > 0) expect('operator', ',');
      if (isOperator(end)) break;
      items.push(item());
    }
    next();
    return items;
  }

  function postfix(value) {
    let now = value;
    for (;;) {
      const { line } = peek();
      if (skip('operator', '.')) {
        const token = next();
        if (token.kind === 'name') now = node('attribute', { object: now, name: token.value }, line);
        else if (token.kind === 'number')
          now = node('item', { object: now, key: node('constant', { value: BigInt(token.value) }) }, line);
        else fail(`found ${shown(token)} where a name is needed`, line);
      } else if (skip('operator', '[')) {
        now = node('item', { object: now, key: subscript() }, line);
        expect('operator', ']');
      } else if (isOperator('(')) now = call(now);
      else return now;
    }
  }

  function subscript() {
    const { line } = peek();
    const part = () => (isOperator(':') || isOperator(']') ? undefined : expression());
    const start = part();
    if (isOperator(',') && start !== undefined) {
      const items = [start];
      while (skip('operator', ',')) items.push(expression());
      return node('tuple', { items }, line);
    }
    if (!isOperator(':')) return start ?? fail('a subscript is empty', line);
    next();
    const stop = part();
    const step = skip('operator', ':') ? part() : undefined;
    return node('slice', { start, stop, step }, line);
  }

  function call(callee) {
    const { line } = peek();
    return node('call', { callee, ...argumentsOf() }, line);
  }

  /** Arguments between parentheses. */
  function argumentsOf() {
    const [given, named] = [[], []];
    expect('operator', '(');
    while (!isOperator(')')) {
      if (given.length + named.length > 0) expect('operator', ',');
      if (isOperator(')')) break;
      const isLast = named.some(({ name }) => name === undefined);
      if (isLast || (given.at(-1)?.isSpread === true && !isOperator('**') && peek(1).value !== '='))
        fail('no argument may stand there after those that are spread');
      if (skip('operator', '*')) given.push({ isSpread: true, value: expression() });
      else if (skip('operator', '**')) named.push({ name: undefined, value: expression() });
      else if (is('name') && peek(1).kind === 'operator' && peek(1).value === '=') {
        const { value: name, line } = next();
        if (named.some((one) => one.name === name)) fail(`the argument '${name}' stands twice`, line);
        next();
        named.push({ name, value: expression() });
      } else if (named.length > 0) fail('an argument without a name follows those that have names');
      else given.push({ isSpread: false, value: expression() });
    }
    next();
    return { given, named };
  }

  /** Filters, tests and calls after a value. */
  function filtered(value) {
    let now = value;
    for (;;) {
      if (isOperator('|')) now = filterChain(now);
      else if (isName('is')) now = test(now);
      else if (isOperator('(')) now = call(now);
      else return now;
    }
  }

  /** @param value `undefined`: what a block writes; the first filter then has no bar before it */
  function filterChain(value) {
    let now = value;
    let isFirst = value === undefined && !isOperator('|');
    while (isFirst || skip('operator', '|')) {
      isFirst = false;
      const { value: name, line } = expect('name');
      now = node('filter', { value: now, name, ...(isOperator('(') ? argumentsOf() : { given: [], named: [] }) }, line);
    }
    return now;
  }

  function test(value) {
    next();
    const isNegated = skip('name', 'not');
    const { value: name, line } = is('operator') && COMPARISONS.includes(peek().value) ? next() : expect('name');
    if (isName('is')) fail('You cannot chain multiple tests with is', line);
    let parts = { given: [], named: [] };
    if (isOperator('(')) parts = argumentsOf();
    else if (startsOperand()) parts.given.push({ isSpread: false, value: postfix(primary()) });
    const found = node('test', { value, name, ...parts }, line);
    return isNegated ? node('not', { value: found }, line) : found;
  }

  function startsOperand() {
    const { kind, value } = peek();
    if (kind === 'name') return !['else', 'or', 'and', 'if', 'is', 'in', 'not', 'recursive'].includes(value);
    return kind === 'text' || kind === 'number' || (kind === 'operator' && ['[', '{'].includes(value));
  }
}

/** The text that a literal stands for, with Python's escapes. */
function unescaped(literal, line) {
  return literal
    .slice(1, -1)
    .replaceAll(
      /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))/gs,
      (all, byte, unit, point, octal, letter) => {
        if ('xuUN'.includes(letter ?? '-'))
          throw new TemplateFault(`the escape ${all} is not one of a character`, line);
        const code = byte ?? unit ?? point;
        if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
        if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
        return ESCAPES[letter] ?? (/['"\\]/.test(letter) ? letter : all);
      },
    );
}

module.exports = { CONSTANTS, expressionsOf };
