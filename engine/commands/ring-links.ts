import { InputError } from '../input/input-error.ts';
import { parseQuantity } from '../input/quantity.ts';
import { type KeyPair, readKeys } from '../ring/wire/keys.ts';

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

/** Of `--link-delay`. */
export const LINK_DELAY_HELP = 'added to all that it sends, such as "5 ms": tries a slow network out on a fast one';

/** Seconds. @throws InputError for what is no time */
export function readLinkDelay(text: string | undefined): number {
  return text === undefined ? 0 : parseQuantity(text, 'time', '--link-delay');
}
