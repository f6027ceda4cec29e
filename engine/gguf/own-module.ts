import { fileURLToPath } from 'node:url';

/** How a module of this project is run in a thread or a process of its own. */
export interface OwnModule {
  /** The file that is run, and arguments before its own. */
  readonly path: string;
  readonly args: readonly string[];
  /** Options of Node. */
  readonly execArgv: readonly string[];
}

/** A TypeScript module, which tsx compiles. A bundle, in which all modules are one file, replaces this function. */
export function ownModule(url: URL): OwnModule {
  return { path: fileURLToPath(url), args: [], execArgv: ['--import', import.meta.resolve('tsx')] };
}
