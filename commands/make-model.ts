import { statSync } from 'node:fs';
import { Command } from 'commander';
import { loadCatalogue } from '../datasets/load.ts';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { TINY_SHAPE } from '../engine/gguf/make/made-model.ts';
import { makeGguf } from '../engine/gguf/make/make-gguf.ts';
import { formatBytes, formatSeconds } from '../engine/input/format.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import type { Shape } from '../engine/model/architecture.ts';
import { FILE_MIXES } from '../engine/model/mix.ts';
import { readChoice } from '../engine/terminal/options.ts';
import { createProgress, type Progress } from '../engine/terminal/progress.ts';
import { checkOutputFile, FORCE, removedIfInterrupted } from './output-file.ts';
import { readSeed } from './shared-options.ts';

interface Options {
  readonly shape: string;
  readonly modelFile?: string;
  readonly mix: string;
  readonly seed: string;
  readonly out: string;
  readonly force?: true;
}

/** Short names of shapes. */
const ALIASES: Readonly<Record<string, string>> = { '1b': 'TinyLlama-1.1B' };

/**
 * `hearth make-model`: writes a GGUF file with random weights, which every runtime loads and whose text is meaningless.
 */
export function makeModelCommand(): Command {
  return new Command('make-model')
    .description(
      'Writes a GGUF file with random weights: as large and as fast as a real model, but its text is meaningless.',
    )
    .requiredOption('--shape <name>', '1b (TinyLlama-1.1B), tiny, or a model of datasets/models.csv or --model-file')
    .option(
      '--model-file <file>',
      'your own models, in addition to those on file (CSV, columns as datasets/models.csv)',
    )
    .option('--mix <name>', `quantization mix, or one format for all matrices: ${FILE_MIXES.join(', ')}`, 'Q4_K_M')
    .option('--seed <n>', 'the same seed gives the same file', '1')
    .requiredOption('--out <file>', 'the file to write')
    .addOption(FORCE)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const shape = findShape(options.shape, options.modelFile);
  const mix = readChoice('--mix', options.mix, FILE_MIXES);
  const seed = readSeed(options.seed);
  const file = {
    flag: '--out',
    path: options.out,
    kind: 'a GGUF file',
    inputs: [options.modelFile],
    force: options.force === true,
  } as const;
  checkOutputFile(file);
  const start = performance.now();
  let progress: Progress | undefined;
  try {
    const onPiece = (pieces: number, tensor: string): void => {
      progress ??= createProgress(pieces);
      progress.step(tensor);
    };
    const path = options.out;
    await removedIfInterrupted(temporaryPath(path), () => makeGguf({ shape, mix, seed, path, onPiece }));
  } finally {
    progress?.stop();
  }
  const [size, time] = [formatBytes(statSync(options.out).size), formatSeconds((performance.now() - start) / 1000)];
  const summary = `${options.out}: ${shape.name}, ${mix}, ${size}, ${time}`;
  process.stderr.write(`${summary}\n`);
}

function findShape(name: string, modelFile: string | undefined): Shape {
  const shapes = [TINY_SHAPE, ...loadCatalogue(modelFile).map((model) => model.shape)];
  const wanted = ALIASES[name] ?? name;
  const found = shapes.find((shape) => shape.name === wanted);
  if (found !== undefined) return found;
  const names = [...Object.keys(ALIASES), ...shapes.map((shape) => shape.name)];
  throw new InputError('--shape', `no shape is called "${name}"${suggestion(name, names)}`);
}
