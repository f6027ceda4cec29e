import { InputError } from '../input/input-error.ts';
import { type KeyPair, readKeys } from '../ring/keys.ts';

/** `--keys FILE` or `--plain`: one of them has to be chosen. @throws InputError */
export function readLinkKeys({ keys, plain }: { readonly keys?: string; readonly plain?: true }): KeyPair | undefined {
  if (keys !== undefined && plain) throw new InputError('--plain', 'and --keys exclude each other');
  if (keys !== undefined) return readKeys(keys);
  if (plain) return undefined;
  throw new InputError(
    '--keys',
    'is missing; make keys by hearth keygen --out FILE (or use --plain on links you trust)',
  );
}
