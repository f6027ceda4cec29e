import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { formatBytes } from '../../../engine/input/format.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { bundleProgram, EXTERNAL_PACKAGES } from './bundle.ts';
import { packLibraries } from './libraries.ts';
import { packPeer } from './peer.ts';

const HELP = `npm run gpu-kit -- --out kit.tar.xz [options]

Packs a bench of GPUs that runs on a machine without Node and without network: unpack it there, and run ./run.sh OUT.

  --out <file>     the box; a name that ends in .tar isn’t compressed
  --folder <dir>   the unpacked box instead, or as well
  --without-peer   leaves llama.cpp out, which is downloaded from the npm registry once
  --help
`;

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPTS = ['run.sh', 'node.sh'];

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      folder: { type: 'string' },
      'without-peer': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (values.out === undefined && values.folder === undefined)
    throw new InputError('--out', 'is missing; name the file to write, kit.tar.xz for example');
  const made = mkdtempSync(join(tmpdir(), 'hearth-gpu-kit-'));
  try {
    const box = values.folder ?? join(made, 'hearth-gpu-kit');
    if (existsSync(box)) throw new InputError('--folder', `${box} exists already; name a folder that doesn’t`);
    await fillBox(box, !values['without-peer']);
    if (values.out !== undefined) compress(box, resolve(values.out));
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** The box's folder: the project's tree as far as the program reads it, and Node next to it. */
async function fillBox(box: string, withPeer: boolean): Promise<void> {
  mkdirSync(box, { recursive: true });
  await bundleProgram(join(box, 'program.mjs'));
  for (const [from, to] of copied()) {
    mkdirSync(dirname(join(box, to)), { recursive: true });
    cpSync(from, join(box, to), { recursive: true, dereference: true });
  }
  for (const script of SCRIPTS) chmodSync(join(box, script), 0o755);
  packLibraries(box);
  const peer = withPeer ? await packPeer(join(box, 'node_modules')) : undefined;
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const commit = execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  writeFileSync(join(box, 'origin.json'), `${JSON.stringify({ version, commit: commit.trim(), peer }, null, 2)}\n`);
}

/** Files that are copied into the box: [file or folder here, its path there]. */
function copied(): [from: string, to: string][] {
  const own = (path: string): [string, string] => [join(ROOT, path), path];
  const tables = readdirSync(join(ROOT, 'datasets'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^models(\.csv|\/.*\.json)$/.test(name))
    .map((name) => own(`datasets/${name}`));
  return [
    ...tables,
    own('native/build/release/hearth.node'),
    own('test/golden/models'),
    ...SCRIPTS.map((script): [string, string] => [join(import.meta.dirname, script), script]),
    ...packageFiles(),
  ];
}

/** The packages that the program loads at run time, with their licences. */
function packageFiles(): [from: string, to: string][] {
  return Object.entries(EXTERNAL_PACKAGES).flatMap(([name, needed]) => {
    const folder = join(ROOT, 'node_modules', name);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return files
      .filter((file) => /^(package\.json|LICENSE.*)$/.test(file) || needed.test(file))
      .map((file): [string, string] => [join(folder, file), join('node_modules', name, file)]);
  });
}

function compress(box: string, out: string): void {
  const flags = out.endsWith('.tar') ? ['-cf'] : ['-I', 'xz -9e -T0', '-cf'];
  execFileSync('tar', [...flags, out, '--owner=0', '--group=0', '-C', dirname(box), 'hearth-gpu-kit'], {
    stdio: 'inherit',
  });
  process.stdout.write(`${out}: ${formatBytes(statSync(out).size)}\n`);
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'gpu-kit');
}
