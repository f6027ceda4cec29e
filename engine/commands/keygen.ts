import { Command } from 'commander';
import { writeKeys } from '../ring/wire/keys.ts';

/** `hearth keygen`: keys for the links of a ring. The public one goes to stdout, for the other devices. */
export function keygenCommand(): Command {
  return new Command('keygen')
    .description('Writes keys for this device to a file, and prints the public one for the others.')
    .requiredOption('--out <file>', 'where the keys go; they stay on this device')
    .action(({ out }: { readonly out: string }) => {
      process.stdout.write(`${writeKeys(out).publicKey}\n`);
    });
}
