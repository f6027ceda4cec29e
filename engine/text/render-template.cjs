// The program of template-process.ts. Plain JavaScript: it starts without a compiler.
const { readFileSync, writeFileSync } = require('node:fs');
const { runInThisContext } = require('node:vm');
const { Template } = require('@huggingface/jinja');
require('./python-semantics.cjs');

const { source, values, mostSeconds, mostCharacters } = JSON.parse(readFileSync(0, 'utf8'));
const MOST_MESSAGE = 1000;

/** What template-process.ts reads: a text, or why there is none. */
function answer() {
  try {
    globalThis.render = () => new Template(source).render(values);
    // Ends it even where nobody waits for it any more.
    const text = runInThisContext('render()', { timeout: 1000 * mostSeconds });
    if (text.length <= mostCharacters) return { text };
    return { kind: 'unbounded', message: `it writes ${text.length} characters; at most ${mostCharacters} are read` };
  } catch (error) {
    if (error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      return { kind: 'unbounded', message: `it takes longer than ${mostSeconds} s` };
    return { kind: 'refused', message: String(error.message).slice(0, MOST_MESSAGE) };
  }
}

writeFileSync(1, JSON.stringify(answer()));
