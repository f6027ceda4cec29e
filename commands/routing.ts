import { basename } from 'node:path';
import { Command } from 'commander';
import { fitRecurrence } from '../engine/experts/fit-recurrence.ts';
import { overlapAt, type Routing } from '../engine/experts/routing.ts';
import { routingText } from '../engine/experts/write-routing.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { formatPercent } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { recordRouting } from '../engine/runtime/load/record-routing.ts';
import { readCount } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { checkOutputFile, FORCE, writeOutputFile } from './output-file.ts';
import { OPTIONS, readKernels } from './shared-options.ts';
import { readTextFile } from './text-file.ts';

interface Options {
  readonly model: string;
  readonly text: string;
  readonly out: string;
  readonly tokens: string;
  readonly threads?: string;
  readonly kernels: string;
  readonly force?: true;
}

/** Tokens that are evaluated at once: few enough to show progress. */
const TOGETHER = 64;
/** Fewest tokens for which recurrence is reported. */
const LEAST_TOKENS = 16;

/** `hearth routing`: records which experts a mixture uses for each token of a text. */
export function routingCommand(): Command {
  return new Command('routing')
    .description('Writes which experts a mixture chooses for each token of a text, for experiments/expert-caches.ts.')
    .addOption(OPTIONS.model)
    .requiredOption('--text <file>', 'a text of the kind that the model will meet, in UTF-8')
    .requiredOption('--out <file>', 'the file to write (JSON)')
    .option('--tokens <n>', 'read at most this many tokens of the text', '1024')
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(FORCE)
    .action(run);
}

function run({ model, text, out, ...options }: Options): void {
  checkOutputFile({
    ...{ flag: '--out', path: out, kind: 'a routing', inputs: [model, text], force: options.force === true },
  });
  const gguf = withFile(model, readGguf);
  const { name, layer, trainedContext } = modelFromGguf(gguf);
  if (layer.routed.length === 0) throw new InputError(model, 'has no experts; routing is recorded of mixtures alone');
  const tokenizer = loadTokenizer(gguf);
  const most = Math.min(readCount('--tokens', options.tokens, 1), trainedContext ?? Number.POSITIVE_INFINITY);
  const begin = tokenizer.addsBegin && tokenizer.begin !== undefined ? [tokenizer.begin] : [];
  const tokens = [...begin, ...tokenizer.encode(readTextFile(text))].slice(0, most);
  if (tokens.length === begin.length)
    throw new InputError(text, 'is empty; give a text of the kind that the model will meet');
  const kernels = openKernels(readKernels(options));
  const progress = createProgress(Math.ceil(tokens.length / TOGETHER));
  try {
    const recorded = recordRouting({
      model,
      kernels,
      tokens,
      together: TOGETHER,
      onTokens: () => progress.step('tokens'),
    });
    if (recorded === undefined) throw new InputError(model, 'chose no experts');
    const routing: Routing = { ...recorded, tokens: tokens.length };
    writeOutputFile({ flag: '--out', path: out }, routingText(name, routing));
    process.stderr.write(`${out}: ${description(routing)}; ${basename(text)}\n`);
  } finally {
    progress.stop();
    kernels.close();
  }
}

/** `64 tokens, 16 layers, 8 of 64 experts; 31 % are those of the token before; …` */
function description(routing: Routing): string {
  const { tokens, layers, used, experts } = routing;
  const size = `${tokens} tokens, ${layers} layers, ${used} of ${experts} experts`;
  if (tokens < LEAST_TOKENS) return size;
  const { previous, recent, window } = fitRecurrence(routing);
  const again = `${formatPercent(overlapAt(routing, 1))} are those of the token before`;
  const fit = `copied from the token before with ${previous}, from the last ${window} with ${recent}`;
  return `${size}; ${again}; ${fit}`;
}
