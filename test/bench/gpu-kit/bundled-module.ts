import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OwnModule } from '../../../engine/gguf/own-module.ts';

/** The bundle itself: this module is part of it, and its address isn't replaced (bundle.ts). */
const BUNDLE = import.meta.filename;

/** A module that is a part of the bundle (program.ts), by its path in the project. Takes the place of own-module.ts. */
export function ownModule(url: URL): OwnModule {
  return { path: BUNDLE, args: [relative(dirname(BUNDLE), fileURLToPath(url))], execArgv: [] };
}
