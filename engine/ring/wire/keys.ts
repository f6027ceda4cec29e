import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { curveKeyPair } from 'zeromq';
import { InputError } from '../../input/input-error.ts';
import { parseJson } from '../../input/parse-json.ts';
import { readFields } from '../../input/read-fields.ts';
import { fromZ85 } from './z85.ts';

/** A device's keys, 32 bytes each (Curve25519, CurveZMQ), hexadecimal: shells leave that alone. */
export interface KeyPair {
  readonly publicKey: string;
  readonly secretKey: string;
}

const KEY = /^[0-9a-f]{64}$/;

export function createKeys(): KeyPair {
  const { publicKey, secretKey } = curveKeyPair();
  return { publicKey: fromZ85(publicKey), secretKey: fromZ85(secretKey) };
}

/** Writes a new pair to a file that only its owner may read. @throws InputError if it is there already */
export function writeKeys(path: string): KeyPair {
  const keys = createKeys();
  try {
    writeFileSync(path, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const reasons: Readonly<Record<string, string>> = {
      EEXIST: 'is there already; keys are not overwritten, choose another name',
      ENOENT: 'there is no such folder; create it first',
    };
    throw new InputError(path, reasons[code] ?? `can't be written (${code})`);
  }
  return keys;
}

/** @throws InputError for a file that is no key file, or that others may read */
export function readKeys(path: string): KeyPair {
  let text = '';
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      throw new InputError(path, 'may be read by others; chmod 600 it');
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, "can't be read; make keys by: hearth keygen --out FILE");
  }
  const fields = readFields(parseJson(text, path), path, '', () => {});
  const keys = {
    publicKey: readPublicKey(fields.place('publicKey'), fields.text('publicKey')),
    secretKey: readPublicKey(fields.place('secretKey'), fields.text('secretKey')),
  };
  fields.end();
  return keys;
}

/** @throws InputError unless the text is 64 hexadecimal digits; it is not repeated, for it may be secret */
export function readPublicKey(where: string, text: string): string {
  if (!KEY.test(text))
    throw new InputError(where, 'is no key; 64 hexadecimal digits are needed, as keygen prints them');
  return text;
}
