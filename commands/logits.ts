import { Command } from 'commander';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../engine/runtime/load/load-transformer.ts';
import type { Transformer } from '../engine/runtime/pass/transformer.ts';
import { readCount } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { OPTIONS, optional, readKernels, readKvCache } from './shared-options.ts';

interface Options {
  readonly model: string;
  readonly tokens: string;
  readonly all?: true;
  readonly json?: true;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly kernels: string;
  readonly kv: string;
  readonly memory?: string;
  readonly context?: string;
}

/** Room for a text unless asked for more: enough for most, and small enough for any memory. */
const USUAL_CONTEXT = 4096;

/** Tokens per position in the table; JSON has the logits of all tokens. */
const SHOWN = 10;

/** `hearth logits`: prints a model's logits, for comparison with other engines. */
export function logitsCommand(): Command {
  return new Command('logits')
    .description('Evaluates tokens and prints the logits of the last one, or of all.')
    .addOption(OPTIONS.model)
    .requiredOption('--tokens <ids>', 'ids, separated by commas')
    .option('--all', 'the logits of all positions')
    .option('--json', `print all logits as JSON, not only the ${SHOWN} largest`)
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast)
    .addOption(OPTIONS.kvCache)
    .addOption(OPTIONS.memory)
    .option(
      '--context <n>',
      `tokens that the run has room for, which selects the rotary scaling of models that have two (longrope; default: what the model was trained for, at most ${USUAL_CONTEXT})`,
    )
    .action(run);
}

function run(options: Options): void {
  const kernels = openKernels(readKernels(options));
  try {
    evaluate(kernels, options);
  } finally {
    kernels.close();
  }
}

function evaluate(kernels: Kernels, options: Options): void {
  const kvCache = readKvCache(options.kv);
  const texts = options.tokens.split(',');
  const memory = optional(options.memory, (text) => parseQuantity(text, 'size', '--memory'));
  const context =
    optional(options.context, (text) => readCount('--context', text, texts.length)) ??
    Math.max(texts.length, usualContext(options.model));
  const transformer = loadTransformer(options.model, { kernels, context, kvCache, memory });
  const { vocabularySize } = transformer.model;
  const tokens = texts.map((text) => readCount('--tokens', text, 0, vocabularySize - 1));
  const logits = options.all ? transformer.evaluateAll(tokens) : transformer.evaluate(tokens);
  const rows = Array.from({ length: logits.length / vocabularySize }, (_, row) =>
    logits.subarray(row * vocabularySize, (row + 1) * vocabularySize),
  );
  process.stdout.write(options.json ? asJson(transformer, kernels, options, tokens, rows) : asTable(tokens, rows));
}

function usualContext(path: string): number {
  const gguf = withFile(path, readGguf);
  return Math.min(USUAL_CONTEXT, modelFromGguf(gguf).trainedContext ?? USUAL_CONTEXT);
}

function asJson(
  { model }: Transformer,
  { name, instructionSet }: Kernels,
  { kv }: Options,
  tokens: readonly number[],
  rows: readonly Float32Array[],
): string {
  // Nine digits identify a float32.
  const logits = rows.map((row) => Array.from(row, (value) => Number(value.toPrecision(9))));
  const { architecture, vocabularySize, mix } = model;
  const facts = { model: model.name, architecture, mix, vocabularySize, kernels: name, instructionSet, kvCache: kv };
  return `${JSON.stringify({ ...facts, tokens, firstPosition: tokens.length - rows.length, logits })}\n`;
}

/** The largest logits of each position, with their tokens and probabilities. */
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
