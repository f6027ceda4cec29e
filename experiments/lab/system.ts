import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** The file operations of a lab: the machine's own, or a tree in memory in tests. */
export interface LabFiles {
  exists(path: string): boolean;
  /** @throws Error if it can't be read */
  read(path: string): string;
  write(path: string, text: string): void;
  /** Names in a folder; empty if there is no such folder. */
  list(path: string): readonly string[];
  makeFolder(path: string): void;
  /** @throws Error if there is no such folder, or it may not be removed yet */
  removeFolder(path: string): void;
}

export const REAL_FILES: LabFiles = {
  exists: existsSync,
  read: (path) => readFileSync(path, 'utf8'),
  write: writeFileSync,
  list: (path) => (existsSync(path) ? readdirSync(path) : []),
  makeFolder: (path) => {
    mkdirSync(path);
  },
  removeFolder: (path) => rmdirSync(path),
};

/** Runs a program to its end, such as `ip netns add …`, and returns what it printed. */
export type RunProgram = (program: string, ...options: readonly string[]) => string;

/** RunProgram on this machine. @throws Error with the command line and what the program wrote to stderr */
export const runProgram: RunProgram = (program, ...options) => {
  try {
    return execFileSync(program, options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const message = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(`${[program, ...options].join(' ')}: ${message}`);
  }
};
