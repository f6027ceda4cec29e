// Runs the statements of a template, as jinja2 3.1 does with the settings of transformers' chat templates.
const { arithmetic, negated } = require('./arithmetic.cjs');
const { environment, hasPlaces } = require('./environment.cjs');
const { GLOBALS } = require('./globals.cjs');
const { TemplateFault } = require('./lexer.cjs');
const { Loop } = require('./loop.cjs');
const {
  areEqual,
  compare,
  contains,
  fail,
  isNumber,
  isText,
  isTrue,
  iterate,
  keyOf,
  known,
  Namespace,
  repr,
  sliced,
  str,
  tuple,
  typeName,
  Undefined,
} = require('./values.cjs');

/** Names and their values; a loop's or a macro's own hide those around it. */
class Scope {
  constructor(parent) {
    this.parent = parent;
    this.values = new Map();
  }

  find(name) {
    for (let scope = this; scope !== undefined; scope = scope.parent)
      if (scope.values.has(name)) return scope.values.get(name);
    return undefined;
  }
}

/**
 * @param values a Map
 * @returns the text
 * @throws TemplateFault with the line
 */
function run(statements, values) {
  const globals = new Scope();
  for (const [name, value] of [...Object.entries(GLOBALS), ...values]) globals.values.set(name, value);
  const out = [];
  block(statements, new Scope(globals), out);
  return out.join('');
}

/** @returns `break` or `continue` where one of them ended it */
function block(statements, scope, out) {
  for (const statement of statements) {
    const ended =
      statement.type === 'data' ? void out.push(statement.text) : located(statement, () => step(statement, scope, out));
    if (ended !== undefined) return ended;
  }
  return undefined;
}

/** Gives a fault the line of the innermost statement that it comes from. */
function located({ line }, compute) {
  try {
    return compute();
  } catch (error) {
    if (error instanceof TemplateFault && error.line === undefined) error.line = line;
    throw error;
  }
}

function step(statement, scope, out) {
  switch (statement.type) {
    case 'output':
      return void out.push(str(evaluate(statement.value, scope)));
    case 'if': {
      const found = statement.cases.find(({ condition }) => isTrue(evaluate(condition, scope)));
      return block(found?.body ?? statement.otherwise, scope, out);
    }
    case 'for':
      return void loop(statement, evaluate(statement.iterable, scope), scope, out, 0);
    case 'set':
      return void assign(statement.target, evaluate(statement.value, scope), scope);
    case 'setBlock': {
      const text = written(statement.body, scope);
      return void assign(
        statement.target,
        statement.filters === undefined ? text : filtered(statement.filters, text, scope),
        scope,
      );
    }
    case 'macro':
      return void scope.values.set(statement.name, macro(statement, scope));
    case 'callBlock': {
      const caller = macro({ ...statement, name: null }, scope);
      return void out.push(str(called(statement.call, scope, new Map([['caller', caller]]))));
    }
    case 'filterBlock':
      return void out.push(text(filtered(statement.filters, written(statement.body, scope), scope)));
    case 'with': {
      const inner = new Scope(scope);
      const values = statement.values.map(({ value }) => evaluate(value, scope));
      for (const [index, { target }] of statement.values.entries()) assign(target, values[index], inner);
      return block(statement.body, inner, out);
    }
    case 'block':
      return block(statement.body, new Scope(scope), out);
    default:
      return statement.type;
  }
}

function text(value) {
  return isText(value) ? value : fail(`a filter of a block gives a str, not ${typeName(value)}`);
}

function written(body, scope) {
  const out = [];
  block(body, new Scope(scope), out);
  return out.join('');
}

function assign(target, value, scope) {
  if (target.type === 'nameTarget') return void scope.values.set(target.name, value);
  if (target.type === 'namespaceTarget') {
    const space = scope.find(target.name);
    if (!(space instanceof Namespace)) fail('only a namespace has attributes that can be set');
    return void space.values.set(target.attribute, value);
  }
  const values = [...iterate(known(value))];
  const { length } = target.targets;
  if (values.length !== length) fail(`${values.length} values can't be unpacked into ${length} names`);
  for (const [index, one] of target.targets.entries()) assign(one, values[index], scope);
}

function loop(statement, iterable, scope, out, depth) {
  const { target, condition, isRecursive, body, otherwise } = statement;
  const inner = (value) => {
    const own = new Scope(scope);
    assign(target, value, own);
    return own;
  };
  const all = iterate(iterable);
  const items = condition === undefined ? all : [...all].filter((value) => isTrue(evaluate(condition, inner(value))));
  const length = items.length;
  let isWhole = false;
  const again = (value, nested) => loop(statement, value, scope, nested, depth + 1);
  const shared = { items, length, depth, again: isRecursive ? again : undefined, changed: undefined };
  let index = 0;
  let previous = new Undefined('there is no previous item');
  for (const value of items) {
    const own = inner(value);
    own.values.set('loop', new Loop(shared, index, previous));
    const ended = block(body, own, out);
    if (ended === 'break') break;
    isWhole ||= ended === undefined;
    previous = value;
    index++;
  }
  // As in Jinja: where no pass came to its end, the loop has an else even if there were items.
  if (!isWhole) block(otherwise, new Scope(scope), out);
}

function macro({ name, parameters, body, uses }, scope) {
  const names = parameters.map((one) => one.name);
  const shown = name === null ? 'None' : `'${name}'`;
  const call = (given, named) => {
    checkArguments();
    const own = new Scope(scope);
    for (const [index, parameter] of parameters.entries()) {
      if (index < given.length) own.values.set(parameter.name, given[index]);
      else if (named.has(parameter.name)) own.values.set(parameter.name, named.get(parameter.name));
      else if (parameter.fallback !== undefined) own.values.set(parameter.name, evaluate(parameter.fallback, own));
      else own.values.set(parameter.name, new Undefined(`parameter '${parameter.name}' was not provided`));
    }
    const others = [...named].filter(([key]) => !names.includes(key));
    own.values.set('varargs', tuple(given.slice(parameters.length)));
    own.values.set('kwargs', new Map(others.filter(([key]) => key !== 'caller' || !uses.caller)));
    if (!names.includes('caller')) own.values.set('caller', named.get('caller') ?? new Undefined('No caller defined'));
    const out = [];
    block(body, own, out);
    return out.join('');

    function checkArguments() {
      if (given.length > names.length && !uses.varargs)
        fail(`macro ${shown} has ${names.length} arguments, fewer than it was given`);
      const taken = names.slice(given.length);
      for (const key of named.keys())
        if (!taken.includes(key) && !uses.kwargs && !(key === 'caller' && uses.caller))
          fail(`macro ${shown} has no argument '${key}'`);
    }
  };
  const attributes = {
    ...{ name, arguments: tuple(names), shown: name === null ? '<Macro anonymous>' : `<Macro ${repr(name)}>` },
    ...{ catch_kwargs: uses.kwargs, catch_varargs: uses.varargs, caller: uses.caller },
  };
  return Object.assign(call, { attributes });
}

/** Filters of a block's text. */
function filtered(node, text, scope) {
  const input = node.value === undefined ? text : filtered(node.value, text, scope);
  return applied(node, input, scope);
}

function applied(node, input, scope) {
  const { given, named } = argumentsOf(node, scope);
  return located(node, () => environment.filter(node.name, input, given, named));
}

function evaluate(node, scope) {
  switch (node.type) {
    case 'constant':
      return node.value;
    case 'name': {
      const found = scope.find(node.name);
      return found === undefined ? new Undefined(`'${node.name}' is undefined`) : found;
    }
    case 'attribute':
      return located(node, () => environment.attribute(evaluate(node.object, scope), node.name));
    case 'item':
      return located(node, () => subscripted(evaluate(node.object, scope), node.key, scope));
    case 'call':
      return called(node, scope);
    case 'filter':
      return applied(node, evaluate(node.value, scope), scope);
    case 'test': {
      const value = evaluate(node.value, scope);
      const { given, named } = argumentsOf(node, scope);
      return located(node, () => environment.test(node.name, given, named)(value));
    }
    case 'list':
      return node.items.map((item) => evaluate(item, scope));
    case 'tuple':
      return tuple(node.items.map((item) => evaluate(item, scope)));
    case 'dict':
      return located(node, () => dict(node.pairs, scope));
    case 'conditional': {
      if (isTrue(evaluate(node.condition, scope))) return evaluate(node.value, scope);
      if (node.otherwise !== undefined) return evaluate(node.otherwise, scope);
      return new Undefined('the inline if-expression evaluated to false and no else section was defined');
    }
    case 'or': {
      const left = evaluate(node.left, scope);
      return isTrue(left) ? left : evaluate(node.right, scope);
    }
    case 'and': {
      const left = evaluate(node.left, scope);
      return isTrue(left) ? evaluate(node.right, scope) : left;
    }
    case 'not':
      return !isTrue(evaluate(node.value, scope));
    case 'comparison':
      return located(node, () => compared(node, scope));
    case 'concatenation':
      return node.parts.map((part) => str(evaluate(part, scope))).join('');
    case 'arithmetic': {
      const [left, right] = [evaluate(node.left, scope), evaluate(node.right, scope)];
      return located(node, () => arithmetic(node.operator, left, right));
    }
    case 'sign': {
      const value = evaluate(node.value, scope);
      return located(node, () => (node.operator === '-' ? negated(value) : negated(negated(value))));
    }
    default:
      return fail(`unexpected ${node.type}`);
  }
}

function dict(pairs, scope) {
  const found = new Map();
  for (const { key, value } of pairs) {
    const own = evaluate(key, scope);
    // Python shows such a key as it was first written; here it is the int that it equals.
    if (isNumber(own) && typeof own !== typeof keyOf(own) && !found.has(keyOf(own)))
      fail(`a ${typeName(own)} as a key is not supported`);
    found.set(keyOf(own), evaluate(value, scope));
  }
  return found;
}

function compared({ first, others }, scope) {
  let left = evaluate(first, scope);
  for (const { operator, value } of others) {
    const right = evaluate(value, scope);
    if (!holds(operator, left, right)) return false;
    left = right;
  }
  return true;
}

function holds(operator, left, right) {
  switch (operator) {
    case '==':
      return areEqual(left, right);
    case '!=':
      return !areEqual(left, right);
    case 'in':
      return contains(right, left);
    case 'not in':
      return !contains(right, left);
    case '<':
      return compare(left, right, operator) < 0;
    case '<=':
      return compare(left, right, operator) <= 0;
    case '>':
      return compare(left, right, operator) > 0;
    default:
      return compare(left, right, operator) >= 0;
  }
}

function subscripted(object, key, scope) {
  if (key.type !== 'slice') return environment.item(object, evaluate(key, scope));
  known(object);
  if (!hasPlaces(object)) fail(`a ${typeName(object)} has no items`);
  const part = (one) => (one === undefined ? undefined : evaluate(one, scope));
  return sliced(object, part(key.start), part(key.stop), part(key.step));
}

function called(node, scope, more = new Map()) {
  const callee = evaluate(node.callee, scope);
  const { given, named } = argumentsOf(node, scope);
  return located(node, () => {
    known(callee);
    if (callee instanceof Loop) return callee.call(given);
    if (typeof callee !== 'function') fail(`a ${typeName(callee)} can't be called`);
    return callee(given, new Map([...named, ...more]));
  });
}

function argumentsOf({ given, named }, scope) {
  const values = given.flatMap(({ isSpread, value }) => {
    const found = evaluate(value, scope);
    return isSpread ? [...iterate(found)] : [found];
  });
  const byName = new Map();
  for (const { name, value } of named) {
    const found = evaluate(value, scope);
    for (const [key, own] of name === undefined ? found : [[name, found]]) byName.set(key, own);
  }
  return { given: values, named: byName };
}

module.exports = { run };
