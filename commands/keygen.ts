import { Command } from 'commander';
import { writeKeys } from '../engine/ring/wire/keys.ts';
import { checkOutputPath } from './output-file.ts';

/** `hearth keygen`: makes keys for the links of a ring. The public key goes to stdout, for the other devices. */
export function keygenCommand(): Command {
  return new Command('keygen')
    .description('Writes keys for this device to a file, and prints the public key for the other devices.')
    .requiredOption('--out <file>', 'the file for the keys; keep it on this device')
    .action(({ out }: { readonly out: string }) => {
      checkOutputPath('--out', out, 'give the path of a file');
      process.stdout.write(`${writeKeys(out).publicKey}\n`);
    });
}
