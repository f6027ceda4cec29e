import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Whether Dawn may find a driver. Without one it writes warnings to stderr, so it isn't asked on Linux where the Vulkan
 * loader's folders hold no driver and its variables name none (LoaderDriverInterface.md of the loader's repository).
 */
export function hasDrivers(): boolean {
  if (process.platform !== 'linux') return true;
  const { VK_DRIVER_FILES, VK_ICD_FILENAMES, VK_ADD_DRIVER_FILES } = process.env;
  return (VK_DRIVER_FILES ?? VK_ICD_FILENAMES ?? VK_ADD_DRIVER_FILES ?? '') !== '' || driverFolders().some(hasFiles);
}

function driverFolders(): string[] {
  const { XDG_CONFIG_DIRS = '/etc/xdg', XDG_DATA_DIRS = '/usr/local/share:/usr/share' } = process.env;
  const { XDG_DATA_HOME = join(homedir(), '.local/share') } = process.env;
  const roots = [...XDG_CONFIG_DIRS.split(':'), '/usr/local/etc', '/etc', XDG_DATA_HOME, ...XDG_DATA_DIRS.split(':')];
  return roots.map((root) => join(root, 'vulkan/icd.d'));
}

function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.endsWith('.json'));
  } catch {
    return false;
  }
}
