import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { Command } from 'commander';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { partPaths } from '../engine/gguf/file-parts.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { readImportance } from '../engine/gguf/importance.ts';
import { type QuantizedTensor, quantizeGguf } from '../engine/gguf/quantize/quantize-gguf.ts';
import { formatBytes, formatSeconds, threeDigits } from '../engine/input/format.ts';
import { FILE_MIXES } from '../engine/model/mix.ts';
import { readChoice } from '../engine/terminal/options.ts';
import { createProgress, type Progress } from '../engine/terminal/progress.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { checkOutputFile, FORCE, removedIfInterrupted } from './output-file.ts';

interface Options {
  readonly in: string;
  readonly out: string;
  readonly mix: string;
  readonly importance?: string;
  readonly requantize?: true;
  readonly json?: true;
  readonly force?: true;
}

/** `hearth quantize`: writes a model in smaller formats, and says what that does to its weights. */
export function quantizeCommand(): Command {
  return new Command('quantize')
    .description('Writes a model in the formats of a mix, and prints the error of each tensor.')
    .requiredOption('--in <file>', 'a GGUF file with the original weights: F32, F16 or BF16')
    .requiredOption('--out <file>', 'the file to write')
    .option('--mix <name>', `a mix, or one format for all matrices: ${FILE_MIXES.join(', ')}`, 'Q4_K_M')
    .option(
      '--importance <file>',
      'how much each column counts: an importance matrix from hearth importance or llama.cpp',
    )
    .option('--requantize', 'also quantize tensors that are quantized already, which adds to their error')
    .option('--json', 'print it as JSON; sizes in bytes, errors as shares')
    .addOption(FORCE)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { in: input, out: path, importance: file, requantize = false, json = false, force = false } = options;
  const mix = readChoice('--mix', options.mix, FILE_MIXES);
  checkOutputFile({ flag: '--out', path, kind: 'a GGUF file', inputs: [...partPaths(input), file], force });
  const importance = file === undefined ? undefined : { matrix: withFile(file, readImportance), file: basename(file) };
  const start = performance.now();
  let progress: Progress | undefined;
  let tensors: QuantizedTensor[];
  try {
    const onPiece = (pieces: number, tensor: string): void => {
      progress ??= createProgress(pieces);
      progress.step(tensor);
    };
    const model = { input, path, mix, importance, requantize, onPiece };
    tensors = await removedIfInterrupted(temporaryPath(path), () => quantizeGguf(model));
  } finally {
    progress?.stop();
  }
  const seconds = (performance.now() - start) / 1000;
  const bytesBefore = partPaths(input).reduce((sum, part) => sum + statSync(part).size, 0);
  const sizes = { bytesBefore, bytes: statSync(path).size };
  const values = tensors.reduce((sum, tensor) => sum + tensor.values, 0);
  const bitsPerWeight = (8 * tensors.reduce((sum, { bytes }) => sum + bytes, 0)) / values;
  if (json) process.stdout.write(`${JSON.stringify({ mix, ...sizes, bitsPerWeight, seconds, tensors }, null, 2)}\n`);
  else process.stdout.write(quantizedTable(tensors));
  const [before, after] = [formatBytes(sizes.bytesBefore), formatBytes(sizes.bytes)];
  const summary = `${mix}, ${before} before, ${after} now, ${bitsPerWeight.toFixed(2)} bits per weight`;
  process.stderr.write(`${path}: ${summary}, ${formatSeconds(seconds)}\n`);
}

/** A row for each tensor; a column of weighted errors only if there are any. */
function quantizedTable(tensors: readonly QuantizedTensor[]): string {
  const weighted = tensors.some(({ weightedError }) => weightedError !== undefined);
  const right = (title: string) => ({ title, align: 'right' as const });
  return formatTable(
    [
      { title: 'tensor' },
      { title: 'before' },
      { title: 'now' },
      right('bytes\nbefore'),
      right('bytes'),
      right('error'),
      ...(weighted ? [right('error, by\nimportance')] : []),
    ],
    tensors.map(({ name, from, to, bytesBefore, bytes, error, weightedError }) => [
      ...[name, from, to, formatBytes(bytesBefore), formatBytes(bytes), percentOf(error)],
      weightedError === undefined ? '–' : percentOf(weightedError),
    ]),
  );
}

/** With three digits, as fine formats have errors below 0.1 %. */
function percentOf(share: number): string {
  return `${threeDigits(100 * share)} %`;
}
