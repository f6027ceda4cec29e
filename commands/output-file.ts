import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Option } from 'commander';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { InputError } from '../engine/input/input-error.ts';
import { writingProblem } from '../engine/input/system-error.ts';

/** Kinds of files that commands write, and what the beginning of one has. */
const KINDS = {
  'a GGUF file': /^GGUF/,
  'a trace': /"traceEvents"/,
  'a plan': /"stages"/,
  'a cluster file': /"devices"/,
  'a profile of parts': /"paces"/,
  'a routing': /"traces"/,
  'a file of packed experts': /^HEARTHPX/,
  'a scan of a page cache': /"hearth-page-scan"/,
} as const satisfies Record<string, RegExp>;

/** A file that a command is asked to write. */
export interface OutputFile {
  readonly flag: string;
  readonly path: string;
  readonly kind: keyof typeof KINDS;
  /** Files that the command reads. */
  readonly inputs: readonly (string | undefined)[];
  /** Whether an existing file of the same kind may be replaced. */
  readonly force: boolean;
}

export const FORCE = new Option('--force', 'replace an existing file, if it is of the kind that is written');

/** Bytes at the beginning of a file that show its kind. */
const BEGINNING = 4096;

/**
 * The file, if it may be written; to be asked before anything is computed. Devices and pipes, such as /dev/null, may
 * hold texts, but no weights, whose file gets its name once it is complete.
 * @throws InputError for a file that the command reads, a folder, and an existing file unless it is of the same kind and
 * may be replaced
 */
export function checkOutputFile(file: OutputFile): OutputFile {
  const { flag, path, kind, inputs, force } = file;
  checkOutputPath(flag, path, 'give the path of a file');
  const found = statusOf(path);
  const place = `${flag} ${path}`;
  if (found === undefined) {
    if (statusOf(dirname(path))?.isDirectory()) return file;
    throw new InputError(place, `there is no folder ${dirname(path)}; create it first`);
  }
  if (found.isDirectory()) throw new InputError(place, 'is a folder; give the path of a file');
  if (!found.isFile()) {
    if (kind === 'a GGUF file' || kind === 'a file of packed experts')
      throw new InputError(place, 'is a device or a pipe; give the path of a file');
    return file;
  }
  for (const input of inputs) {
    const other = input === undefined ? undefined : statusOf(input);
    if (other?.dev === found.dev && other.ino === found.ino)
      throw new InputError(place, 'is a file that this command reads; give another path');
  }
  if (found.size > 0 && !KINDS[kind].test(beginning(path)))
    throw new InputError(place, `exists and is not ${kind}, so it is not replaced; give another path`);
  if (!force) throw new InputError(place, `exists; give another path, or --force to replace ${kind}`);
  return file;
}

/**
 * Checks that a path names a place for an output.
 * @param advice what to give instead: `give the path of a file`
 * @throws InputError for an empty path, `-`, which doesn't mean stdout, and a link to nothing
 */
export function checkOutputPath(flag: string, path: string, advice: string): void {
  if (path.trim() === '') throw new InputError(flag, `is empty; ${advice}`);
  const place = `${flag} ${path}`;
  if (path === '-') throw new InputError(place, `doesn’t mean stdout here; ${advice}, ./- for one named -`);
  if (statusOf(path) === undefined && statusOf(path, lstatSync)?.isSymbolicLink())
    throw new InputError(place, 'is a link to nothing; give another path, or remove the link');
}

/**
 * Checks that no output of a command replaces another one. Devices and pipes may be given twice.
 * @param files files that `checkOutputFile` allowed
 * @throws InputError naming both options
 */
export function checkDifferentFiles(files: readonly (OutputFile | undefined)[]): void {
  const flags = new Map<string, string>();
  for (const { flag, path } of files.filter((one) => one !== undefined)) {
    if (statusOf(path)?.isFile() === false) continue;
    const place = join(realpathSync(dirname(path)), basename(path));
    const other = flags.get(place);
    if (other !== undefined) throw new InputError(`${flag} ${path}`, `is also the file of ${other}; give another path`);
    flags.set(place, flag);
  }
}

/**
 * Makes the folder for a command's files, and those above it, unless they exist.
 * @throws InputError where a file has its name, or it can't be made
 */
export function makeOutputFolder(flag: string, path: string): void {
  checkOutputPath(flag, path, 'give the path of a folder');
  const found = statusOf(path);
  if (found?.isDirectory()) return;
  if (found !== undefined) throw new InputError(`${flag} ${path}`, 'is a file; give the path of a folder');
  // One folder at a time: Node's own recursion never ends in /proc.
  if (dirname(path) !== path) makeOutputFolder(flag, dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    throw new InputError(`${flag} ${path}`, `can’t be made (${(error as Error).message}); give another folder`);
  }
}

/** Runs `write`; a signal that ends the process meanwhile first removes the file at `unfinished`. */
export async function removedIfInterrupted<Result>(unfinished: string, write: () => Promise<Result>): Promise<Result> {
  const stop = (signal: NodeJS.Signals): void => {
    rmSync(unfinished, { force: true });
    process.kill(process.pid, signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await write();
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

/** The status of a file; `undefined` where there is none, or none that can be reached. */
function statusOf(path: string, stat: (path: string) => Stats = statSync): Stats | undefined {
  try {
    return stat(path);
  } catch {
    return undefined;
  }
}

function beginning(path: string): string {
  const bytes = Buffer.alloc(BEGINNING);
  const file = openSync(path, 'r');
  try {
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, BEGINNING, 0));
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a text under a temporary name and renames it, so that whatever the path held stays whole if writing fails.
 * @throws InputError where it can't be written
 */
export function writeOutputFile({ flag, path }: Pick<OutputFile, 'flag' | 'path'>, text: string): void {
  const isSpecial = statusOf(path)?.isFile() === false;
  const temporary = isSpecial ? path : temporaryPath(path);
  try {
    writeFileSync(temporary, text);
    if (!isSpecial) renameSync(temporary, path);
  } catch (error) {
    if (!isSpecial && statusOf(temporary) !== undefined) rmSync(temporary);
    throw new InputError(`${flag} ${path}`, writingProblem(error));
  }
}
