// The program of template-process.ts: a line of JSON for each that it gets, until there are no more. Plain JavaScript:
// it starts without a compiler.
const { writeFileSync } = require('node:fs');
const { runInThisContext } = require('node:vm');
const { run } = require('./interpreter.cjs');
const { TemplateFault } = require('./lexer.cjs');
const { parse } = require('./parser.cjs');
const { fromJson } = require('./values.cjs');

const MOST_MESSAGE = 1000;

/** The last template: all conversations of a server have the same. */
let parsed = { source: undefined, statements: undefined };

/** Answer for template-process.ts: a text, or why there is none, and whether the template was interrupted. */
function answer({ source, values, mostSeconds, mostCharacters }) {
  try {
    globalThis.render = () => {
      if (parsed.source !== source) parsed = { source, statements: parse(source) };
      return run(parsed.statements, fromJson(values));
    };
    // Ends it even where nobody waits for it any more.
    const text = runInThisContext('render()', { timeout: 1000 * mostSeconds });
    if (text.length <= mostCharacters) return { text };
    return { kind: 'unbounded', message: `it writes ${text.length} characters; at most ${mostCharacters} are read` };
  } catch (error) {
    if (error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return { kind: 'unbounded', message: `it takes longer than ${mostSeconds} s`, isInterrupted: true };
    const where = error instanceof TemplateFault && error.line != null ? `line ${error.line}: ` : '';
    return { kind: 'refused', message: `${where}${error.message}`.slice(0, MOST_MESSAGE) };
  }
}

let rest = '';
process.stdin.setEncoding('utf8').on('data', (more) => {
  const lines = (rest + more).split('\n');
  rest = lines.pop();
  for (const line of lines) writeFileSync(1, `${JSON.stringify(answer(JSON.parse(line)))}\n`);
});
