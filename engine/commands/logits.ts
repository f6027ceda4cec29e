import { Command } from 'commander';
import { parseQuantity } from '../input/quantity.ts';
import type { Kernels } from '../kernels/kernels.ts';
import { openKernels } from '../kernels/open-kernels.ts';
import { loadTransformer } from '../runtime/load-transformer.ts';
import type { Transformer } from '../runtime/transformer.ts';
import { readChoice, readCount } from '../terminal/options.ts';
import { formatTable } from '../terminal/table.ts';

interface Options {
  readonly model: string;
  readonly tokens: string;
  readonly all?: true;
  readonly json?: true;
  readonly threads?: string;
  readonly kernels: string;
  readonly kv: string;
  readonly memory?: string;
}

/** Shown of each position, unless all are wanted as JSON. */
const SHOWN = 10;

/** `hearth logits`: what a model makes of some tokens, before anything is sampled; for comparison with other engines. */
export function logitsCommand(): Command {
  return new Command('logits')
    .description('Evaluates tokens and prints the logits of the last one, or of all.')
    .requiredOption('--model <file>', 'a GGUF file')
    .requiredOption('--tokens <ids>', 'ids, separated by commas')
    .option('--all', 'the logits of all positions')
    .option('--json', `print all logits as JSON (else the ${SHOWN} largest)`)
    .option('--threads <n>', 'default: one for each processor')
    .option('--kernels <name>', 'native, reference (slow, exact activations), or auto: native where built', 'auto')
    .option('--kv <format>', 'of the KV cache: F16 or F32', 'F16')
    .option('--memory <size>', 'all that the process may take, such as 600MiB; weights beyond it are streamed')
    .action(run);
}

function run(options: Options): void {
  const kernels = openKernels({
    implementation: readChoice('--kernels', options.kernels, ['auto', 'native', 'reference']),
    ...(options.threads === undefined ? {} : { threads: readCount('--threads', options.threads, 1, 1024) }),
  });
  try {
    evaluate(kernels, options);
  } finally {
    kernels.close();
  }
}

function evaluate(kernels: Kernels, options: Options): void {
  const kvCache = readChoice('--kv', options.kv, ['F16', 'F32']);
  const texts = options.tokens.split(',');
  const memory = options.memory === undefined ? undefined : parseQuantity(options.memory, 'size', '--memory');
  const transformer = loadTransformer(options.model, { kernels, context: texts.length, kvCache, memory });
  const { vocabularySize } = transformer.model;
  const tokens = texts.map((text) => readCount('--tokens', text, 0, vocabularySize - 1));
  const logits = options.all ? transformer.evaluateAll(tokens) : transformer.evaluate(tokens);
  const rows = Array.from({ length: logits.length / vocabularySize }, (_, row) =>
    logits.subarray(row * vocabularySize, (row + 1) * vocabularySize),
  );
  process.stdout.write(options.json ? asJson(transformer, kernels, options, tokens, rows) : asTable(tokens, rows));
}

function asJson(
  { model }: Transformer,
  { name, instructionSet }: Kernels,
  { kv }: Options,
  tokens: readonly number[],
  rows: readonly Float32Array[],
): string {
  // Nine digits are enough to tell one float32 from all others.
  const logits = rows.map((row) => Array.from(row, (value) => Number(value.toPrecision(9))));
  const { architecture, vocabularySize, mix } = model;
  const facts = { model: model.name, architecture, mix, vocabularySize, kernels: name, instructionSet, kvCache: kv };
  return `${JSON.stringify({ ...facts, tokens, firstPosition: tokens.length - rows.length, logits })}\n`;
}

/** The largest logits of each position, their token and their probability. */
function asTable(tokens: readonly number[], rows: readonly Float32Array[]): string {
  const lines = rows.flatMap((row, index) => {
    const position = tokens.length - rows.length + index;
    const largest = Array.from(row.keys())
      .sort((a, b) => (row[b] as number) - (row[a] as number))
      .slice(0, SHOWN);
    const top = row[largest[0] as number] as number;
    const total = row.reduce((sum, logit) => sum + Math.exp(logit - top), 0);
    return largest.map((token, rank) => {
      const logit = row[token] as number;
      const where = rank === 0 ? [String(position), String(tokens[position])] : ['', ''];
      return [...where, String(token), logit.toFixed(4), (Math.exp(logit - top) / total).toFixed(4)];
    });
  });
  const titles = ['Position', 'Token', 'Next', 'Logit', 'Probability'];
  return formatTable(
    titles.map((title) => ({ title, align: 'right' })),
    lines,
  );
}
