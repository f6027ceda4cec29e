import { Command } from 'commander';
import { OPTIONS, readKvCache } from '../../commands/shared-options.ts';
import { formatPercent } from '../../engine/input/format.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { type Evaluation, evaluateModels } from './evaluate-models.ts';

interface Options {
  readonly target: string;
  readonly draft: string;
  readonly documents: string;
  readonly seed: string;
  readonly kv: string;
  readonly json?: true;
}

const program = new Command('evaluate')
  .description('How well two models predict held-out documents, and how often one accepts what the other proposes.')
  .option('--target <file>', 'the larger model', 'datasets/models/stories-3m.gguf')
  .option('--draft <file>', 'the smaller model, with the same tokenizer', 'datasets/models/stories-300k.gguf')
  .option('--documents <n>', 'held-out documents', '1000')
  .option('--seed <n>', 'of the corpus', '1')
  .addOption(OPTIONS.kvCache)
  .option('--json', 'print the figures as JSON')
  .action(({ target, draft, json, ...options }: Options) => {
    const settings = {
      documents: readCount('--documents', options.documents, 1),
      seed: readCount('--seed', options.seed, 0, 2 ** 32 - 1),
      kvCache: readKvCache(options.kv),
    };
    const kernels = openKernels({ implementation: 'auto' });
    try {
      const evaluation = evaluateModels(kernels, { target, draft }, settings);
      process.stdout.write(json ? `${JSON.stringify(evaluation, null, 2)}\n` : text(evaluation));
    } finally {
      kernels.close();
    }
  });

function text({ documents, tokens, entropy, target, draft, acceptance }: Evaluation): string {
  const nats = (value: number): string =>
    `${value.toFixed(4)} nats per token (perplexity ${Math.exp(value).toFixed(3)})`;
  return [
    `${documents} held-out documents, ${tokens} tokens`,
    `grammar  ${nats(entropy)}`,
    `target   ${nats(target)}`,
    `draft    ${nats(draft)}`,
    `accepted ${formatPercent(acceptance.greedy)} of ${acceptance.tokens} greedy tokens, ${formatPercent(acceptance.drawn)} if drawn at temperature 1`,
    '',
  ].join('\n');
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, 'evaluate');
}
