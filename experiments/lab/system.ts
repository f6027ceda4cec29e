import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** What a lab asks of the file system: real, or a tree in a test. */
export interface LabFiles {
  exists(path: string): boolean;
  /** @throws Error where it can't be read */
  read(path: string): string;
  write(path: string, text: string): void;
  /** Names in a folder; none where there is no folder. */
  list(path: string): readonly string[];
  makeFolder(path: string): void;
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
