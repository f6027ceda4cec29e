import { Command } from 'commander';
import { checkOutputFile, FORCE } from '../../commands/output-file.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { readChoice } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { writeTrainedModel } from './write-trained-model.ts';

const MIXES = ['Q8_0', 'F16', 'F32'] as const satisfies readonly FileMix[];

const program = new Command('write-model')
  .description('Writes a trained model as a GGUF file.')
  .requiredOption(
    '--weights <file>',
    'what train.py wrote: NAME.safetensors, with NAME.json and tokenizer.gguf next to it',
  )
  .option('--mix <name>', `format of the matrices: ${MIXES.join(', ')}`, 'Q8_0')
  .requiredOption('--out <file>', 'the file to write')
  .addOption(FORCE)
  .action(async ({ weights, mix, out, force }: { weights: string; mix: string; out: string; force?: true }) => {
    checkOutputFile({ flag: '--out', path: out, kind: 'a GGUF file', inputs: [weights], force: force === true });
    await writeTrainedModel(weights, out, readChoice('--mix', mix, MIXES));
  });

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, 'write-model');
}
