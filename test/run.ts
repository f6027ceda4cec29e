import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run } from 'uvu/run';

/**
 * Runs every test file below test/ with uvu, or those whose path contains one of the arguments. Ends with the line
 * `N passed, N failed, N skipped` from uvu's own summary; a run in which no test executed fails.
 */
const root = import.meta.dirname;
const wanted = process.argv.slice(2);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
  .sort();

let printed = '';
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = ((chunk: string | Uint8Array, ...rest: []) => {
  printed = (printed + String(chunk)).slice(-2000);
  return write(chunk, ...rest);
}) as typeof process.stdout.write;

await run(files.map((file) => ({ name: relative(root, join(root, file)), file: join(root, file) })));

process.stdout.write = write;
// biome-ignore lint/suspicious/noControlCharactersInRegex: uvu colours its summary with escape sequences
const summary = printed.replace(/\x1b\[\d+m/g, '');
const count = (label: string): number =>
  Number(new RegExp(`${label}:\\s+(\\d+)\\s*\\n`).exec(summary)?.[1] ?? Number.NaN);
const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')];
if (!(total > 0)) {
  console.error('no test executed');
  process.exitCode = 1;
}
console.log(`${passed} passed, ${total - passed} failed, ${skipped} skipped`);
