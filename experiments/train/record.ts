import { basename } from 'node:path';
import { Command } from 'commander';
import { checkOutputFile, FORCE, writeOutputFile } from '../../commands/output-file.ts';
import { routingText } from '../../engine/experts/write-routing.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { recordDocuments } from './record-documents.ts';

const program = new Command('record')
  .description(
    'Writes which experts a mixture uses while it reads held-out documents, as hearth routing does of a text.',
  )
  .option('--model <file>', 'a mixture', 'datasets/models/stories-mixture.gguf')
  .option('--documents <n>', 'held-out documents', '40')
  .option('--seed <n>', 'of the corpus', '1')
  .requiredOption('--out <file>', 'the file to write (JSON)')
  .addOption(FORCE)
  .action((options: Record<'model' | 'documents' | 'seed' | 'out', string> & { readonly force?: true }) => {
    const { model, out, force } = options;
    checkOutputFile({ flag: '--out', path: out, kind: 'a routing', inputs: [model], force: force === true });
    const settings = {
      documents: readCount('--documents', options.documents, 1),
      seed: readCount('--seed', options.seed, 0, 2 ** 32 - 1),
    };
    const kernels = openKernels({ implementation: 'auto' });
    try {
      const routing = recordDocuments(kernels, model, settings);
      writeOutputFile({ flag: '--out', path: out }, routingText(basename(model, '.gguf'), routing));
    } finally {
      kernels.close();
    }
  });

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, 'record');
}
