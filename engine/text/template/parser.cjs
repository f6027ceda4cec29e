// The statements and expressions of a template, by the grammar of jinja2 3.1 (parser.py).
const { TemplateFault, tokensOf } = require('./lexer.cjs');

const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='];
const ESCAPES = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', a: '\x07', 0: '\0', '\n': '' };
const CONSTANTS = { true: true, True: true, false: false, False: false, none: null, None: null };

/** @returns statements, each with its `type` and `line` */
function parse(source) {
  const tokens = tokensOf(source);
  let at = 0;
  const LAST = { kind: 'end', value: 'the end of the template', line: tokens.at(-1)?.line ?? 1 };
  const peek = (ahead = 0) => tokens[at + ahead] ?? LAST;
  const next = () => tokens[at++] ?? LAST;
  const fail = (message, line = peek().line) => {
    throw new TemplateFault(message, line);
  };
  const is = (kind, value) => peek().kind === kind && (value === undefined || peek().value === value);
  const isOperator = (value) => is('operator', value);
  const isName = (value) => is('name', value);
  const skip = (kind, value) => is(kind, value) && next() !== undefined;
  const expect = (kind, value) => {
    if (is(kind, value)) return next();
    return fail(`found ${shown(peek())} where ${value ?? (kind === 'name' ? 'a name' : kind)} is needed`);
  };
  const node = (type, parts, line = peek().line) => ({ type, line, ...parts });

  const body = statementsUntil([]);
  if (at < tokens.length) fail(`unexpected ${shown(peek(1))}`);
  return body;

  /** Statements up to a block with one of these names, which is left at its name. */
  function statementsUntil(ends) {
    const found = [];
    for (;;) {
      const token = peek();
      if (token.kind === 'data') found.push(node('data', { text: next().value }, token.line));
      else if (token.kind === 'begin variable') {
        next();
        found.push(node('output', { value: tuple() }, token.line));
        expect('end variable');
      } else if (token.kind === 'begin block') {
        if (ends.includes(peek(1).value)) {
          next();
          return found;
        }
        if (/^(?:end|else$|elif$)/.test(peek(1).value)) return found;
        next();
        found.push(statement());
      } else {
        if (ends.length > 0) fail(`the template ends where ${ends.join(' or ')} is needed`);
        return found;
      }
    }
  }

  /** The body of a block, up to and including its end. */
  function bodyUntil(end) {
    expect('end block');
    const found = statementsUntil([end]);
    expect('name', end);
    return found;
  }

  function statement() {
    const { line, value: name } = expect('name');
    const made = (type, parts) => node(type, parts, line);
    const ended = (one) => {
      expect('end block');
      return one;
    };
    switch (name) {
      case 'for':
        return ended(forLoop(line));
      case 'if':
        return ended(branches(line));
      case 'set':
        return ended(assignment(line));
      case 'macro': {
        const own = expect('name').value;
        const parameters = signature();
        return ended(made('macro', { name: own, parameters, body: bodyUntil('endmacro') }));
      }
      case 'call': {
        const parameters = isOperator('(') ? signature() : [];
        const call = unary();
        if (call.type !== 'call') fail('call needs a call', line);
        return ended(made('callBlock', { parameters, call, body: bodyUntil('endcall') }));
      }
      case 'filter': {
        const filters = filterChain(undefined);
        return ended(made('filterBlock', { filters, body: bodyUntil('endfilter') }));
      }
      case 'with': {
        const values = [];
        while (!is('end block')) {
          if (values.length > 0) expect('operator', ',');
          const target = targetOf();
          expect('operator', '=');
          values.push({ target, value: expression() });
        }
        return ended(made('with', { values, body: bodyUntil('endwith') }));
      }
      case 'generation':
        return ended(made('block', { body: bodyUntil('endgeneration') }));
      case 'break':
      case 'continue':
        return ended(made(name, {}));
      default:
        return fail(`the tag "${name}" is not known here`, line);
    }
  }

  function forLoop(line) {
    const target = targetOf('in');
    expect('name', 'in');
    const iterable = tuple({ isConditional: false });
    const condition = skip('name', 'if') ? expression() : undefined;
    const isRecursive = skip('name', 'recursive');
    expect('end block');
    const body = statementsUntil(['endfor', 'else']);
    let otherwise = [];
    if (skip('name', 'else')) {
      expect('end block');
      otherwise = statementsUntil(['endfor']);
    }
    expect('name', 'endfor');
    return node('for', { target, iterable, condition, isRecursive, body, otherwise }, line);
  }

  function branches(line) {
    const cases = [];
    let otherwise = [];
    for (;;) {
      const condition = tuple({ isConditional: false });
      expect('end block');
      cases.push({ condition, body: statementsUntil(['elif', 'else', 'endif']) });
      if (skip('name', 'elif')) continue;
      if (skip('name', 'else')) {
        expect('end block');
        otherwise = statementsUntil(['endif']);
      }
      expect('name', 'endif');
      return node('if', { cases, otherwise }, line);
    }
  }

  function assignment(line) {
    const target = targetOf();
    if (skip('operator', '=')) return node('set', { target, value: tuple() }, line);
    const filters = isOperator('|') ? filterChain(undefined) : undefined;
    return node('setBlock', { target, filters, body: bodyUntil('endset') }, line);
  }

  /** A name, a namespace's attribute, or several names. */
  function targetOf() {
    const one = () => {
      if (skip('operator', '(')) {
        const inner = targetOf();
        expect('operator', ')');
        return inner;
      }
      const { value: name, line } = expect('name');
      if (skip('operator', '.')) return node('namespaceTarget', { name, attribute: expect('name').value }, line);
      return node('nameTarget', { name }, line);
    };
    const first = one();
    if (!isOperator(',')) return first;
    const targets = [first];
    while (skip('operator', ',')) {
      if (!is('name') && !isOperator('(')) break;
      targets.push(one());
    }
    return node('tupleTarget', { targets }, first.line);
  }

  function signature() {
    const parameters = [];
    expect('operator', '(');
    while (!isOperator(')')) {
      if (parameters.length > 0) expect('operator', ',');
      const { value: name } = expect('name');
      parameters.push({ name, fallback: skip('operator', '=') ? expression() : undefined });
    }
    next();
    return parameters;
  }

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
        at += 2;
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
      return node('name', { name: value }, line);
    }
    if (kind === 'text') {
      let text = unescaped(value);
      while (is('text')) text += unescaped(next().value);
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
      if (skip('operator', '*')) given.push({ isSpread: true, value: expression() });
      else if (skip('operator', '**')) named.push({ name: undefined, value: expression() });
      else if (is('name') && peek(1).kind === 'operator' && peek(1).value === '=') {
        const { value: name } = next();
        next();
        named.push({ name, value: expression() });
      } else given.push({ isSpread: false, value: expression() });
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
    const { value: name, line } = expect('name');
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

function shown({ kind, value }) {
  return kind === 'end' ? value : JSON.stringify(value);
}

/** The text that a literal stands for, with Python's escapes. */
function unescaped(literal) {
  return literal
    .slice(1, -1)
    .replaceAll(
      /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))/gs,
      (all, byte, unit, point, octal, letter) => {
        const code = byte ?? unit ?? point;
        if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
        if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
        return ESCAPES[letter] ?? (/['"\\]/.test(letter) ? letter : all);
      },
    );
}

module.exports = { parse };
