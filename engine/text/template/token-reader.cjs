// Reads the tokens of a template one by one.
const { TemplateFault, tokensOf } = require('./lexer.cjs');

/** Functions for parsers: they read the next tokens, expect some, and throw faults with the line. */
function readerOf(source) {
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
  return { expect, fail, is, isName, isOperator, next, node, peek, skip };
}

function shown({ kind, value }) {
  return kind === 'end' ? value : JSON.stringify(value);
}

module.exports = { readerOf, shown };
