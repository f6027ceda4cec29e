import { basename } from 'node:path';
import { Command } from 'commander';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { writeImportance } from '../engine/gguf/importance.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { formatSeconds } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { chunksOf, collectImportance } from '../engine/runtime/load/collect-importance.ts';
import { readCount } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { checkOutputFile, FORCE, removedIfInterrupted } from './output-file.ts';
import { OPTIONS, readKernels } from './shared-options.ts';
import { readTextFile } from './text-file.ts';

interface Options {
  readonly model: string;
  readonly text: string;
  readonly out: string;
  readonly chunk: string;
  readonly chunks?: string;
  readonly parseSpecial?: true;
  readonly threads?: string;
  readonly kernels: string;
  readonly force?: true;
}

/** As in llama.cpp; a model that was trained for less has chunks of that. */
const USUAL_CHUNK = 512;

/** `hearth importance`: measures how large the inputs of a model's matrices are while it reads a text. */
export function importanceCommand(): Command {
  return new Command('importance')
    .description('Writes an importance matrix for hearth quantize: how large the inputs of every matrix are in a text.')
    .addOption(OPTIONS.model)
    .requiredOption('--text <file>', 'a text of the kind that the model will meet, in UTF-8')
    .requiredOption('--out <file>', 'the file to write, in llama.cpp’s form (GGUF)')
    .option('--chunk <n>', 'tokens of a chunk, at most the context that the model was trained for', String(USUAL_CHUNK))
    .option('--chunks <n>', 'read at most this many chunks of the text (default: all)')
    .option('--parse-special', 'read <|im_start|> and the like as control tokens')
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(FORCE)
    .action(run);
}

async function run({ model, text, out, chunks: most, ...options }: Options): Promise<void> {
  const [parseSpecial, force] = [options.parseSpecial === true, options.force === true];
  checkOutputFile({ flag: '--out', path: out, kind: 'a GGUF file', inputs: [model, text], force });
  const gguf = withFile(model, readGguf);
  const trained = transformerSettings(gguf, modelFromGguf(gguf)).contextLength;
  const wanted = readCount('--chunk', options.chunk, 2, 1e6);
  const tokenizer = loadTokenizer(gguf);
  const tokens = tokenizer.encode(readTextFile(text), { parseSpecial });
  if (tokens.length === 0) throw new InputError(text, 'is empty; give a text of the kind that the model will meet');
  const begin = tokenizer.addsBegin ? tokenizer.begin : undefined;
  const chunkTokens = Math.min(wanted, trained, tokens.length + (begin === undefined ? 0 : 1));
  const all = chunksOf(tokens, chunkTokens, begin);
  const chunks = most === undefined ? all : all.slice(0, readCount('--chunks', most, 1));
  const kernels = openKernels(readKernels(options));
  const progress = createProgress(chunks.length);
  const start = performance.now();
  try {
    const onChunk = (): void => progress.step('chunks');
    const inputs = collectImportance({ model, kernels, chunks, context: chunkTokens, onChunk });
    const importance = { datasets: [basename(text)], chunks: chunks.length, chunkTokens, inputs };
    await removedIfInterrupted(temporaryPath(out), () => writeImportance(out, importance));
    const time = formatSeconds((performance.now() - start) / 1000);
    const size = `${chunks.length} chunks of ${chunkTokens} tokens`;
    process.stderr.write(`${out}: inputs of ${inputs.size} matrices, ${size}, ${time}\n`);
  } finally {
    progress.stop();
    kernels.close();
  }
}
