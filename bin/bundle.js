import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { keepPlaces } from './keep-places.js';

/**
 * The command line as a bundle of JavaScript, which starts in a third of the time that its 700 modules take one by one.
 * It is made anew when a source is newer than it is, or has another size. Names of its files hold digests of their
 * texts, so that processes that run an older one go on, and several can make it at once.
 */
const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(import.meta.dirname, 'bundle');
const MANIFEST = join(FOLDER, 'manifest.json');
/** The first module of the command line, and those that it runs in threads. */
const ENTRIES = [
  'bin/hearth.ts',
  'commands/catalogue-thread.ts',
  'engine/gguf/make/worker.ts',
  'engine/gguf/quantize/worker.ts',
  'engine/ring/device/npu/thread.ts',
  'engine/text/grammar/states-thread.ts',
];
/** Files of older bundles are kept that long for the processes that run them, ms. */
const KEPT = 7 * 24 * 3600 * 1000;

/** Address of the bundle's first module; nothing where there is none and none can be written. */
export async function bundledCommandLine() {
  const manifest = readManifest() ?? (await makeBundle());
  return manifest && pathToFileURL(join(FOLDER, manifest.entries[ENTRIES[0]])).href;
}

/** The bundle's first module, its files, and the sizes of its sources; nothing if it is out of date. */
function readManifest() {
  try {
    const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'));
    const made = statSync(MANIFEST).mtimeMs;
    for (const [source, size] of Object.entries(manifest.sources)) {
      const found = statSync(join(ROOT, source));
      if (found.size !== size || found.mtimeMs > made) return undefined;
    }
    return manifest;
  } catch {
    // No bundle yet, or a source that has been removed.
    return undefined;
  }
}

async function makeBundle() {
  const { build } = await import('esbuild');
  const started = new Date();
  const sources = {};
  const { metafile, outputFiles } = await build({
    entryPoints: ENTRIES.map((source) => join(ROOT, source)),
    absWorkingDir: ROOT,
    outdir: FOLDER,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' },
    ...{ write: false, metafile: true, logLevel: 'silent' },
    banner: { js: OWN_PLACE },
    plugins: [
      bundledModules,
      keepPlaces({
        url: (path) => `hearthUrl(${JSON.stringify(sourceOf(path))}).href`,
        folder: (path) => `hearthFolder(${JSON.stringify(sourceOf(path))})`,
        onSource: (path, bytes) => {
          sources[sourceOf(path)] = bytes;
        },
      }),
    ],
  });
  const files = outputFiles.map(({ path }) => relative(FOLDER, path));
  const entries = Object.fromEntries(
    Object.entries(metafile.outputs)
      .filter(([, { entryPoint }]) => ENTRIES.includes(entryPoint))
      .map(([file, { entryPoint }]) => [entryPoint, relative(FOLDER, join(ROOT, file))]),
  );
  const manifest = { entries, files, sources };
  try {
    mkdirSync(FOLDER, { recursive: true });
    for (const { path, contents } of outputFiles) writeWhole(path, contents);
    writeWhole(MANIFEST, JSON.stringify(manifest), started);
    removeOld(new Set([...files, relative(FOLDER, MANIFEST)]));
    return manifest;
  } catch {
    // A read-only installation, or a full disk.
    return undefined;
  }
}

/** Threads run modules of the bundle. */
const bundledModules = {
  name: 'bundled modules',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/own-module\.ts$/ }, () => ({ path: join(import.meta.dirname, 'bundled-module.js') })),
};

/** At the top of each file: where a source lies, so that modules find their data, and the modules of their threads. */
const OWN_PLACE = `import { dirname as hearthFolderOf } from 'node:path';
import { fileURLToPath as hearthPath } from 'node:url';
const hearthUrl = (source) => new URL('../../' + source, import.meta.url);
const hearthFolder = (source) => hearthFolderOf(hearthPath(hearthUrl(source)));`;

const sourceOf = (path) => relative(ROOT, path).replaceAll('\\', '/');

/** Writes a file so that others find it whole or not at all. @param modified its date, where it isn't now */
function writeWhole(path, contents, modified) {
  const unfinished = `${path}.${process.pid}.tmp`;
  writeFileSync(unfinished, contents);
  if (modified !== undefined) utimesSync(unfinished, modified, modified);
  renameSync(unfinished, path);
}

/** Removes files of bundles that no process can still be running. @param current names of files that stay */
function removeOld(current) {
  for (const name of readdirSync(FOLDER)) {
    const path = join(FOLDER, name);
    if (!current.has(name) && Date.now() - statSync(path).mtimeMs > KEPT) rmSync(path, { force: true });
  }
}
