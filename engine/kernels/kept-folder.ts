import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder of what Hearth keeps for this user from one run to the next, as each system has one for caches: it may be
 * removed at any time. It is made if it is missing.
 * @returns `undefined` where it can't be made
 */
export function keptFolder(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const folder = join(cacheFolder(environment), 'hearth');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch {
    return undefined;
  }
}

/** XDG Base Directory Specification; Apple's File System Programming Guide; Windows' KNOWNFOLDERID. */
function cacheFolder({ XDG_CACHE_HOME = '', LOCALAPPDATA = '' }: NodeJS.ProcessEnv): string {
  if (XDG_CACHE_HOME !== '') return XDG_CACHE_HOME;
  if (process.platform === 'darwin') return join(homedir(), 'Library/Caches');
  if (process.platform === 'win32' && LOCALAPPDATA !== '') return LOCALAPPDATA;
  return join(homedir(), '.cache');
}
