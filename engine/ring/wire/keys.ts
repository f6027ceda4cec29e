import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { curveKeyPair } from 'zeromq';
import { InputError } from '../../input/input-error.ts';
import { parseJson } from '../../input/parse-json.ts';
import { readFields } from '../../input/read-fields.ts';
import { writingProblem } from '../../input/system-error.ts';

/** A device's keys (Curve25519, CurveZMQ), 32 bytes each, in hexadecimal, which needs no quoting in a shell. */
export interface KeyPair {
  readonly publicKey: string;
  readonly secretKey: string;
}

const KEY = /^[0-9a-f]{64}$/;

export function createKeys(): KeyPair {
  const { publicKey, secretKey } = curveKeyPair();
  return { publicKey: fromZ85(publicKey), secretKey: fromZ85(secretKey) };
}

/** Writes a new pair to a file that only its owner may read. @throws InputError if the file exists or can't be written */
export function writeKeys(path: string): KeyPair {
  const keys = createKeys();
  try {
    writeFileSync(path, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    // For instance on a full disk: the file was made here, and a part of it is useless.
    if (code !== 'EEXIST') rmSync(path, { force: true });
    const reasons: Readonly<Record<string, string>> = {
      EEXIST: 'exists already; keys are not overwritten, choose another name',
      ENOENT: 'the folder does not exist; create it first',
    };
    throw new InputError(path, reasons[code] ?? writingProblem(error));
  }
  return keys;
}

/** Reads a pair of keys. @throws InputError for a file that is not a key file, or that others may read */
export function readKeys(path: string): KeyPair {
  let text = '';
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      throw new InputError(path, 'can be read by other users; chmod 600 it');
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, 'can’t be read; make keys by: hearth keygen --out FILE');
  }
  const fields = readFields(parseJson(text, path), path, '', () => {});
  const keys = {
    publicKey: readPublicKey(fields.place('publicKey'), fields.text('publicKey')),
    secretKey: readPublicKey(fields.place('secretKey'), fields.text('secretKey')),
  };
  fields.end();
  return keys;
}

/** Checks a key. @throws InputError unless it is 64 hexadecimal digits; the text is not quoted, since it may be secret */
export function readPublicKey(where: string, text: string): string {
  if (!KEY.test(text)) throw new InputError(where, 'is not a key; give 64 hexadecimal digits, as keygen prints them');
  return text;
}

/** The digits of Z85, ZeroMQ's text form of keys: four bytes in five digits (ZeroMQ RFC 32). */
const Z85_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';

/** Converts a key from hexadecimal to Z85. @param hexadecimal a multiple of 4 bytes */
export function toZ85(hexadecimal: string): string {
  const bytes = Buffer.from(hexadecimal, 'hex');
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const value = bytes.readUInt32BE(at);
    for (let power = 4; power >= 0; power--) text += Z85_DIGITS[Math.floor(value / 85 ** power) % 85];
  }
  return text;
}

/** Converts a key from Z85 to hexadecimal. @param text a multiple of 5 digits */
export function fromZ85(text: string): string {
  const bytes = Buffer.alloc((text.length / 5) * 4);
  for (let at = 0; at < text.length; at += 5) {
    const value = [...text.slice(at, at + 5)].reduce((sum, character) => 85 * sum + Z85_DIGITS.indexOf(character), 0);
    bytes.writeUInt32BE(value, (at / 5) * 4);
  }
  return bytes.toString('hex');
}
