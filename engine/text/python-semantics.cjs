// What templates of Phi 4, SmolLM 3 and others take from Jinja in Python, and @huggingface/jinja refuses.
const { Interpreter } = require('@huggingface/jinja');

const { evaluate } = Interpreter.prototype;
/** The type of an expression whose value is known. */
const EVALUATED = 'Evaluated';

Interpreter.prototype.evaluate = function (statement, environment) {
  if (statement?.type === EVALUATED) return statement.value;
  if (statement?.type === 'For') {
    const { iterable, defaultBlock } = statement;
    const isSelected = iterable.type === 'SelectExpression';
    const value = this.evaluate(isSelected ? iterable.lhs : iterable, environment);
    // A message without calls has none to loop over.
    if (value.type === 'UndefinedValue') return this.evaluateBlock(defaultBlock, environment);
    const found = { type: EVALUATED, value };
    const loop = { ...statement, iterable: isSelected ? { ...iterable, lhs: found } : found };
    return evaluate.call(this, loop, environment);
  }
  if (statement?.type === 'FilterExpression' && statement.filter.value === 'string') {
    const operand = this.evaluate(statement.operand, environment);
    // A tool as Python writes it.
    if (operand.type === 'ObjectValue')
      return evaluate.call(this, { type: 'StringLiteral', value: written(operand) }, environment);
  }
  return evaluate.call(this, statement, environment);
};

/** A value as Python's `str` writes it within others. */
function written({ type, value }) {
  switch (type) {
    case 'ObjectValue':
      return `{${[...value].map(([key, own]) => `${quoted(key)}: ${written(own)}`).join(', ')}}`;
    case 'ArrayValue':
    case 'TupleValue':
      return `[${value.map(written).join(', ')}]`;
    case 'StringValue':
      return quoted(value);
    case 'BooleanValue':
      return value ? 'True' : 'False';
    case 'NullValue':
      return 'None';
    default:
      return String(value);
  }
}

function quoted(text) {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  if (text.includes("'") && !text.includes('"')) return `"${escaped}"`;
  return `'${escaped.replaceAll("'", "\\'")}'`;
}
