import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError } from '../../../engine/input/input-error.ts';

/**
 * Libraries that bare machines lack, and Debian's packages of them: C++'s for Node and Dawn, the Vulkan loader, and what
 * NVIDIA's driver needs before it can be loaded.
 */
const LIBRARIES: Readonly<Record<string, string>> = {
  'libstdc++.so.6': 'libstdc++6',
  'libgcc_s.so.1': 'libgcc-s1',
  'libvulkan.so.1': 'libvulkan1',
  'libGLdispatch.so.0': 'libglvnd0',
  'libEGL.so.1': 'libegl1',
  'libGLX.so.0': 'libglx0',
  'libGL.so.1': 'libgl1',
  'libX11.so.6': 'libx11-6',
  'libXext.so.6': 'libxext6',
  'libxcb.so.1': 'libxcb1',
  'libXau.so.6': 'libxau6',
  'libXdmcp.so.6': 'libxdmcp6',
  'libbsd.so.0': 'libbsd0',
  'libmd.so.0': 'libmd0',
};

/** glibc, by which Node runs where the system's is older than the one that the box's files were linked with. */
const GLIBC = [
  'ld-linux-x86-64.so.2',
  'libc.so.6',
  'libm.so.6',
  'libdl.so.2',
  'libpthread.so.0',
  'librt.so.1',
  'libresolv.so.2',
  'libutil.so.1',
];

const FOLDERS = ['/usr/lib/x86_64-linux-gnu', '/lib/x86_64-linux-gnu', '/usr/lib64', '/usr/lib'];

/**
 * Node, stripped; glibc with its version (glibc/); and each further library in a folder of its own (lib/NAME/NAME), so
 * that run.sh takes those alone that a machine lacks. From this system, or from Debian's packages where it has apt.
 */
export function packLibraries(box: string): void {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new InputError(
      'gpu-kit',
      `packs this machine’s Node; ${process.platform} on ${process.arch} isn’t Linux on x64`,
    );
  const node = join(box, 'node');
  copyFileSync(realpathSync(process.execPath), node);
  attempt(() => execFileSync('strip', ['--strip-unneeded', node], { stdio: 'ignore' }));
  packGlibc(join(box, 'glibc'));
  for (const name of Object.keys(LIBRARIES)) {
    const path = ownLibrary(name);
    if (path !== undefined) take(join(box, 'lib', name), name, path);
  }
  const missing = missingLibraries();
  if (missing.length > 0) fromPackages(box, missing);
}

/** Libraries of the box that this system lacks, which are downloaded as packages. */
export const missingLibraries = (): string[] => Object.keys(LIBRARIES).filter((name) => ownLibrary(name) === undefined);

function ownLibrary(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** glibc of this system, and its version as `getconf` tells it. @throws InputError on a system with another C library */
function packGlibc(folder: string): void {
  for (const name of GLIBC) {
    const path = ownLibrary(name);
    if (path === undefined) throw new InputError('gpu-kit', `packs this system’s glibc, which has no ${name} here`);
    take(folder, name, path);
  }
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime: string } };
  writeFileSync(join(folder, 'version'), `${header.glibcVersionRuntime}\n`);
}

function take(folder: string, name: string, from: string): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync(realpathSync(from), join(folder, name));
}

/** Downloads packages of this system's release and takes libraries from them. @throws InputError without apt */
function fromPackages(box: string, names: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-packages-'));
  try {
    const packages = [...new Set(names.map((name) => LIBRARIES[name] as string))];
    try {
      execFileSync('apt-get', ['download', ...packages], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    } catch (error) {
      const reason = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message)
        .trim()
        .split('\n')
        .at(-1);
      throw new InputError(names.join(', '), `not found, and apt-get has no ${packages.join(' ')} (${reason})`);
    }
    for (const file of readdirSync(folder)) execFileSync('dpkg', ['-x', join(folder, file), join(folder, 'root')]);
    const files = readdirSync(join(folder, 'root'), { recursive: true, encoding: 'utf8' });
    for (const name of names) {
      const found = files.find((file) => file.endsWith(`/${name}`));
      if (found === undefined) throw new InputError(name, `isn’t in ${LIBRARIES[name]}`);
      take(join(box, 'lib', name), name, join(folder, 'root', found));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function attempt(run: () => void): void {
  try {
    run();
  } catch {} // Without strip it is larger.
}
