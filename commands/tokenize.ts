import { Command } from 'commander';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { InputError } from '../engine/input/input-error.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import { readTextFile } from './text-file.ts';

interface Options {
  readonly model: string;
  readonly text?: string;
  readonly textFile?: string;
  readonly addSpecial?: true;
  readonly parseSpecial?: true;
  readonly json?: true;
}

/** `hearth tokenize`: prints the tokens of a text in a model's vocabulary. */
export function tokenizeCommand(): Command {
  return new Command('tokenize')
    .description('Shows the tokens of a text: id and spelling, one per line.')
    .requiredOption('--model <file>', 'a GGUF file; its vocabulary is enough')
    .option('--text <text>', 'the text')
    .option('--text-file <file>', 'or a file with the text, in UTF-8')
    .option('--add-special', 'add the special tokens at the beginning and end that the model was trained with')
    .option('--parse-special', 'read <|im_start|> and the like as control tokens')
    .option('--json', 'print the ids as a JSON array')
    .action(run);
}

function run({ model, json, ...options }: Options): void {
  const text = readText(options);
  const tokenizer = loadTokenizer(withFile(model, readGguf));
  const tokens = tokenizer.encode(text, options);
  process.stdout.write(json ? `${JSON.stringify(tokens)}\n` : table(tokens, tokenizer));
}

function readText({ text, textFile }: Pick<Options, 'text' | 'textFile'>): string {
  if (text !== undefined && textFile !== undefined)
    throw new InputError('--text', 'and --text-file exclude each other');
  if (text !== undefined) return text;
  if (textFile === undefined) throw new InputError('--text', 'no text is given; use --text or --text-file');
  return readTextFile(textFile);
}

/** One token per line. Spellings are quoted as in JSON, with escapes for characters that a terminal would act on. */
function table(tokens: readonly number[], tokenizer: Tokenizer): string {
  const width = String(tokenizer.size - 1).length;
  const escaped = (text: string): string =>
    JSON.stringify(text).replace(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return tokens.map((token) => `${String(token).padStart(width)}  ${escaped(tokenizer.spell(token))}\n`).join('');
}
