import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
/** Rooms that a point's result can depend on. */
const ROOMS = ['engine', 'simulator', 'planner', 'datasets', 'experiments'];
const CODE = /\.(ts|mjs|csv|json|md)$/;

let known: string | undefined;

/**
 * A hash of code, data sets, dependencies and JavaScript engine: 16 digits of SHA-256. Results of a sweep are only
 * shared between programs for which it is the same.
 */
export function codeVersion(): string {
  known ??= hashOfCode();
  return known;
}

function hashOfCode(): string {
  const hash = createHash('sha256').update(process.versions.v8);
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .map((file) => `${room}/${file.replaceAll('\\', '/')}`)
      .filter((file) => CODE.test(file)),
  ).sort();
  for (const file of [...files, 'package.json']) {
    const text = readFileSync(join(ROOT, file));
    hash.update(`\n${file} ${text.length}\n`).update(text);
  }
  return hash.digest('hex').slice(0, 16);
}
