// Tokens of a Jinja template, as jinja2 3.1 (lexer.py) cuts them with trim_blocks and lstrip_blocks, which chat templates
// are written for.

/** A template that is malformed, or does what Python refuses; with the line, if it has one. */
class TemplateFault extends Error {
  constructor(message, line) {
    super(message);
    this.line = line;
  }
}

const OPERATORS = ['//', '**', '==', '!=', '>=', '<=', ...'+-*/%~[](){}><=.:|,;'];
const DIGITS = '\\d+(?:_\\d+)*';
const NUMBER = new RegExp(
  `${DIGITS}(?:\\.${DIGITS})?[eE][+-]?${DIGITS}|${DIGITS}\\.${DIGITS}|0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?\\d)*|0(?:_?0)*`,
  'y',
);
const NAME = /[\p{L}_][\p{L}\p{N}\p{M}_]*/uy;
const TEXT = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/sy;
const KINDS = { '{{': 'variable', '{%': 'block', '{#': 'comment' };
const ENDS = { variable: '}}', block: '%}' };
const RAW_BEGIN = /\{%([-+]?)\s*raw\s*(-?)%\}/y;
const RAW_END = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g;

/**
 * @returns tokens `{kind, value, line}`: `data`, `begin` and `end` of a variable or block, and what expressions consist of
 */
function tokensOf(template) {
  const source = template.replace(/\r\n|\r/g, '\n').replace(/\n$/, '');
  const tokens = [];
  let [at, line, isLineStart] = [0, 1, true];
  const advance = (to) => {
    for (let index = source.indexOf('\n', at); index >= 0 && index < to; index = source.indexOf('\n', index + 1))
      line++;
    isLineStart = source[to - 1] === '\n';
    at = to;
  };
  /** Data before a tag, without what the tag strips. */
  const data = (text, sign, kind) => {
    let shown = text;
    if (sign === '-') shown = text.trimEnd();
    else if (sign !== '+' && kind !== 'variable') {
      const lineStart = text.lastIndexOf('\n') + 1;
      if ((lineStart > 0 || isLineStart) && /^\s+$/.test(text.slice(lineStart))) shown = text.slice(0, lineStart);
    }
    if (shown !== '') tokens.push({ kind: 'data', value: shown, line });
  };
  /** Index at which text goes on after a tag that ends at `to`. */
  const afterTag = (to, sign, kind) => {
    if (sign === '-') return to + /^\s*/.exec(source.slice(to))[0].length;
    return kind !== 'variable' && sign !== '+' && source[to] === '\n' ? to + 1 : to;
  };
  const fail = (message) => {
    throw new TemplateFault(message, line);
  };
  while (at < source.length) {
    const begin = nextTag(source, at);
    const kind = KINDS[source.slice(begin, begin + 2)];
    const sign = /[-+]/.test(source[begin + 2] ?? '') ? source[begin + 2] : '';
    data(source.slice(at, begin), begin < source.length ? sign : '+', kind);
    advance(begin);
    if (begin === source.length) break;
    if (kind === 'comment') {
      const first = begin + 2 + sign.length;
      if (first === source.length) break;
      const end = source.indexOf('#}', first);
      if (end < 0) fail('a comment has no end');
      const endSign = end > first && /[-+]/.test(source[end - 1]) ? source[end - 1] : '';
      advance(afterTag(end + 2, endSign, kind));
      continue;
    }
    RAW_BEGIN.lastIndex = begin;
    const raw = kind === 'block' ? RAW_BEGIN.exec(source) : null;
    if (raw !== null) {
      advance(afterTag(RAW_BEGIN.lastIndex, raw[2], 'variable'));
      RAW_END.lastIndex = at;
      const end = RAW_END.exec(source);
      if (end === null) fail('raw has no endraw');
      data(source.slice(at, end.index), end[1], kind);
      advance(afterTag(RAW_END.lastIndex, end[2], kind));
      continue;
    }
    tokens.push({ kind: `begin ${kind}`, value: source.slice(begin, begin + 2), line });
    advance(begin + 2 + sign.length);
    expression(kind);
  }
  return tokens;

  function expression(kind) {
    const open = [];
    for (;;) {
      advance(at + /^\s*/.exec(source.slice(at))[0].length);
      if (at >= source.length) fail(`a ${kind} has no end`);
      const end = (kind === 'variable' ? /^-?/ : /^[-+]?/).exec(source.slice(at))[0];
      if (open.length === 0 && source.startsWith(ENDS[kind], at + end.length)) {
        tokens.push({ kind: `end ${kind}`, value: ENDS[kind], line });
        advance(afterTag(at + end.length + 2, end, kind));
        return;
      }
      const found = [
        ['name', NAME],
        ['number', NUMBER],
        ['text', TEXT],
      ].find(([, pattern]) => {
        pattern.lastIndex = at;
        return pattern.test(source);
      });
      if (found !== undefined) {
        const [what, pattern] = found;
        tokens.push({ kind: what, value: source.slice(at, pattern.lastIndex), line });
        advance(pattern.lastIndex);
        continue;
      }
      const operator = OPERATORS.find((one) => source.startsWith(one, at));
      if (operator === undefined) fail(`unexpected ${JSON.stringify(source[at])}`);
      if ('([{'.includes(operator)) open.push(operator);
      if (')]}'.includes(operator)) open.pop();
      tokens.push({ kind: 'operator', value: operator, line });
      advance(at + operator.length);
    }
  }
}

function nextTag(source, from) {
  for (let at = source.indexOf('{', from); at >= 0; at = source.indexOf('{', at + 1))
    if ('{%#'.includes(source[at + 1] ?? ' ')) return at;
  return source.length;
}

module.exports = { TemplateFault, tokensOf };
