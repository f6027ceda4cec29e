import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The bundle's folder: this module is part of the bundle, and its address isn't replaced (keep-places.js). */
const FOLDER = import.meta.dirname;

/** A module that is a part of the bundle, by the address of its source. Takes the place of own-module.ts. */
export function ownModule(url) {
  const { entries } = JSON.parse(readFileSync(join(FOLDER, 'manifest.json'), 'utf8'));
  const source = relative(join(FOLDER, '../..'), fileURLToPath(url)).replaceAll('\\', '/');
  const entry = entries[source];
  if (entry === undefined) throw new Error(`${source} is run in a thread and isn’t among the entries of bin/bundle.js`);
  return { path: join(FOLDER, entry), args: [], execArgv: [] };
}
