import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { createGrammars, type HeldForm } from '../../engine/text/grammar/grammars.ts';
import { onlyAllowed } from '../../engine/text/grammar/held-sampler.ts';
import type { TextForm } from '../../engine/text/grammar/text-form.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';

/**
 * The cost per token of holding a text to a JSON schema, with the vocabularies of GGUF files: for the first text of a
 * schema, for the next one, and for the logits of the tokens that aren't allowed.
 *
 * Usage: npx tsx test/bench/grammar.ts VOCABULARY.gguf …
 */
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    born: { type: 'integer', minimum: 0, maximum: 2100 },
    note: { type: 'string', maxLength: 200 },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'born', 'note', 'tags'],
};
const text = JSON.stringify({
  name: 'Ada Lovelace',
  born: 1815,
  note: 'She wrote what is often called the first program, for a machine that was never built.',
  tags: ['mathematics', 'computing', 'poetry'],
});

for (const file of process.argv.slice(2)) {
  const tokenizer = loadTokenizer(withFile(file, readGguf));
  const tokens = tokenizer.encode(text);
  const logits = new Float32Array(tokenizer.size);
  const grammars = createGrammars(tokenizer);
  const made = async (form: TextForm): Promise<[HeldForm, number]> => {
    const start = performance.now();
    return [await grammars.of(form, new AbortController().signal), (performance.now() - start) / 1000];
  };
  const [, readSeconds] = await made({ schema: true });
  const [grammar, makeSeconds] = await made({ schema });
  process.stdout.write(`${file}: ${tokenizer.size} tokens, vocabulary ${ms(readSeconds)}, schema ${ms(makeSeconds)}\n`);
  for (const what of ['first text', 'second text']) {
    const [allowing, masking]: [number[], number[]] = [[], []];
    let situation = grammar.start;
    for (const token of tokens) {
      const [allowed, seconds] = timed(() => grammar.allowed(situation));
      const [, maskSeconds] = timed(() => onlyAllowed(logits, allowed));
      const [after, stepSeconds] = timed(() => grammar.after(situation, token));
      situation = after;
      allowing.push(seconds + stepSeconds);
      masking.push(maskSeconds);
    }
    const of = (times: number[]): string => {
      const mean = times.reduce((sum, time) => sum + time) / times.length;
      return `mean ${ms(mean)}, at most ${ms(Math.max(...times))}`;
    };
    process.stdout.write(`  ${what}, ${tokens.length} tokens: allowed ${of(allowing)}; logits ${of(masking)}\n`);
  }
}

function timed<Value>(run: () => Value): [Value, number] {
  const start = performance.now();
  return [run(), (performance.now() - start) / 1000];
}

function ms(seconds: number): string {
  return `${(1000 * seconds).toPrecision(3)} ms`;
}
