import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** The drivers that the Vulkan loader would try. */
export interface VulkanDrivers {
  /** Manifests of drivers whose library may be one. */
  readonly usable: readonly string[];
  /** Faults of the other drivers, for messages. */
  readonly problems: readonly string[];
  /** The environment's variable that names all of them; `undefined`: they lie in the loader's folders. */
  readonly variable: string | undefined;
}

/**
 * The drivers of a Linux machine, as the loader finds them (LoaderDriverInterface.md of the loader's repository). The
 * loader and Dawn write warnings about broken ones to stderr, so that they are looked at here before Dawn is asked.
 */
export function vulkanDrivers(environment: NodeJS.ProcessEnv = process.env): VulkanDrivers {
  const variable = ['VK_DRIVER_FILES', 'VK_ICD_FILENAMES'].find((name) => (environment[name] ?? '') !== '');
  const named = environment[variable ?? 'VK_ADD_DRIVER_FILES'] ?? '';
  const paths = [
    ...named.split(':').filter((path) => path !== ''),
    ...(variable === undefined ? driverFolders(environment).filter(isFolder) : []),
  ];
  const manifests = paths.flatMap((path) => (isFolder(path) ? manifestsOf(path) : [path]));
  const checked = manifests.map((path) => ({ path, problem: problemOf(path) }));
  return {
    usable: checked.flatMap(({ path, problem }) => (problem === undefined ? [path] : [])),
    problems: checked.flatMap(({ problem }) => problem ?? []),
    variable,
  };
}

/**
 * Why this machine has no driver that Dawn might find; `undefined` if it may have one. Broken ones that a variable of
 * the environment names together with others are taken out of it.
 */
export function driversMissing(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const { usable, problems, variable } = vulkanDrivers();
  if (usable.length === 0) return problems.length === 0 ? 'no Vulkan driver' : problems.join('; ');
  if (variable !== undefined && problems.length > 0) process.env[variable] = usable.join(':');
  return undefined;
}

function driverFolders(environment: NodeJS.ProcessEnv): string[] {
  const { XDG_CONFIG_DIRS = '/etc/xdg', XDG_DATA_DIRS = '/usr/local/share:/usr/share' } = environment;
  const { XDG_DATA_HOME = join(homedir(), '.local/share') } = environment;
  const roots = [...XDG_CONFIG_DIRS.split(':'), '/usr/local/etc', '/etc', XDG_DATA_HOME, ...XDG_DATA_DIRS.split(':')];
  return roots.map((root) => join(root, 'vulkan/icd.d'));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function manifestsOf(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names.map((name) => join(folder, name));
}

/** Why a manifest gives no driver; `undefined` if it may. */
function problemOf(manifest: string): string | undefined {
  let library: unknown;
  try {
    library = (JSON.parse(readFileSync(manifest, 'utf8')) as { ICD?: { library_path?: unknown } }).ICD?.library_path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `${manifest} ${code === undefined ? 'is not JSON' : `can’t be read (${code})`}`;
  }
  if (typeof library !== 'string') return `${manifest} names no ICD.library_path`;
  // The system's search for libraries finds a name without a folder, wherever it is.
  if (!library.includes('/')) return undefined;
  const path = resolve(dirname(manifest), library);
  try {
    return isLibrary(path) ? undefined : `${manifest} names ${path}, which is no 64-bit library`;
  } catch (error) {
    return `${manifest} names ${path}, which can’t be read (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** The first bytes of a 64-bit ELF file: "\x7fELF", and 2 for its class (elf(5)). */
const ELF_64 = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2]);

function isLibrary(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const begin = Buffer.alloc(ELF_64.length);
    readSync(file, begin, 0, begin.length, 0);
    return begin.equals(ELF_64);
  } finally {
    closeSync(file);
  }
}
