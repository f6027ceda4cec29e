// The statements of a template, by the grammar of jinja2 3.1 (parser.py).
const { CONSTANTS, expressionsOf } = require('./expressions.cjs');
const { readerOf, shown } = require('./token-reader.cjs');

/** @returns statements, each with its `type` and `line` */
function parse(source) {
  const reader = readerOf(source);
  const { expect, fail, is, isOperator, next, node, peek, skip } = reader;
  /** Loops around the place that is read, and the sets of names that the macros around it mention. */
  let loops = 0;
  let mentions = [];

  const { expression, filterChain, tuple, unary } = expressionsOf(reader, (name) => {
    for (const own of mentions) own.add(name);
  });

  const body = statementsUntil([]);
  if (!is('end')) fail(`unexpected ${shown(peek(1))}`);
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
    beginBody();
    const found = statementsUntil([end]);
    expect('name', end);
    return found;
  }

  /** The end of a block that has a body; a colon may stand before it. */
  function beginBody() {
    skip('operator', ':');
    expect('end block');
  }

  /** The body of a macro, which loops around it can't be left from. @returns its statements, and whether it names these */
  function macroBody(end) {
    const [outer, own] = [loops, new Set()];
    mentions.push(own);
    loops = 0;
    const body = bodyUntil(end);
    loops = outer;
    mentions = mentions.slice(0, -1);
    return { body, uses: { varargs: own.has('varargs'), kwargs: own.has('kwargs'), caller: own.has('caller') } };
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
        return ended(made('macro', { name: own, parameters, ...macroBody('endmacro') }));
      }
      case 'call': {
        const parameters = isOperator('(') ? signature() : [];
        const call = unary();
        if (call.type !== 'call') fail('call needs a call', line);
        return ended(made('callBlock', { parameters, call, ...macroBody('endcall') }));
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
        return ended(made('block', { body: macroBody('endgeneration').body }));
      case 'break':
      case 'continue':
        if (loops === 0) fail(`${name} stands outside of a loop`, line);
        return ended(made(name, {}));
      default:
        return fail(`the tag "${name}" is not known here`, line);
    }
  }

  function forLoop(line) {
    const target = targetOf();
    if (target.name === 'loop') fail('"loop" can\'t be the variable of a loop', line);
    expect('name', 'in');
    const iterable = tuple({ isConditional: false });
    const condition = skip('name', 'if') ? expression() : undefined;
    const isRecursive = skip('name', 'recursive');
    beginBody();
    loops++;
    const body = statementsUntil(['endfor', 'else']);
    loops--;
    let otherwise = [];
    if (skip('name', 'else')) {
      beginBody();
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
      beginBody();
      cases.push({ condition, body: statementsUntil(['elif', 'else', 'endif']) });
      if (skip('name', 'elif')) continue;
      if (skip('name', 'else')) {
        beginBody();
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
      if (Object.hasOwn(CONSTANTS, name)) fail(`${name} can't be assigned to`, line);
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
      const { value: name, line } = expect('name');
      const fallback = skip('operator', '=') ? expression() : undefined;
      const last = parameters.at(-1);
      if (fallback === undefined && (last?.fallback !== undefined || name === 'caller'))
        fail(
          name === 'caller' ? 'the parameter caller needs a default' : 'non-default argument follows default argument',
          line,
        );
      if (parameters.some((one) => one.name === name)) fail(`the argument '${name}' stands twice`, line);
      parameters.push({ name, fallback });
    }
    next();
    return parameters;
  }
}

module.exports = { parse };
