import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OwnModule } from '../../../engine/gguf/own-module.ts';

/** The bundle itself: this module is part of it, and its address isn't replaced (bundle.ts). */
const BUNDLE = new URL(import.meta.url);
BUNDLE.search = '';

/** A module that is a part of the bundle (program.ts), by its path in the project. Takes the place of own-module.ts. */
export function ownModule(url: URL): OwnModule {
  const name = relative(fileURLToPath(new URL('.', BUNDLE)), fileURLToPath(url));
  return { url: `${BUNDLE.href}?part=${name}`, path: fileURLToPath(BUNDLE), args: [name], execArgv: [] };
}
