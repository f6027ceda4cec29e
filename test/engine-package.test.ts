import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from './support/needs.ts';
import { compile, example, install, pack } from './support/packages.ts';

const run = promisify(execFile);
const NAME = '@hearth-workbench/engine';
const project = mkdtempSync(join(tmpdir(), 'hearth-engine-'));
const installed = join(project, 'node_modules', NAME);
test.after(() => rmSync(project, { recursive: true, force: true }));

const DEPENDENCIES = ['highs', 'node-addon-api', 'node-api-headers'];

test.before(async () => {
  const tarballs = [await pack(['--workspace', NAME], project)];
  for (const name of DEPENDENCIES) tarballs.push(await pack(['--ignore-scripts', `./node_modules/${name}`], project));
  await install(project, tarballs);
});

test('the engine’s package installs without a network, with the dependencies that it uses and no others', () => {
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const own = JSON.parse(readFileSync('package.json', 'utf8')).dependencies;
  assert.equal(dependencies, Object.fromEntries(DEPENDENCIES.map((name) => [name, own[name]])));
  const found = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
  assert.equal(found.sort(), ['@hearth-workbench', ...DEPENDENCIES]);
  const texts = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(installed, 'dist', name), 'utf8'));
  for (const name of DEPENDENCIES)
    assert.ok(
      texts.some((text) => text.includes(`"${name}`)),
      name,
    );
  assert.ok(existsSync(join(installed, 'LICENSE')));
});

test('every package has the version, license and Node of the project', () => {
  const facts = (folder: string) => {
    const { version, license, engines, publishConfig } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { version, license, engines, publishConfig };
  };
  const { workspaces } = JSON.parse(readFileSync('package.json', 'utf8'));
  assert.equal(workspaces, ['library/light', 'library/engine']);
  for (const folder of workspaces) assert.equal(facts(folder), facts('.'), folder);
});

/** A plan by an integer program, for a cluster and a model on file. */
const PLAN = `
import { createNamedModel, loadCatalogue, loadCluster, loadIntegerSolver, SCHEDULERS } from '${NAME}';
const [belief, model] = [loadCluster('prima-home'), createNamedModel(loadCatalogue(), 'Llama-3-70B')];
const workload = { promptTokens: 16, outputTokens: 4, batch: 1, context: 1024 };
const solver = await loadIntegerSolver();
const { plan } = SCHEDULERS.milp.plan({ belief, model, workload }, solver);
console.log(plan?.kind, plan?.stages.length);
solver.dispose();
`;

test('the example of text from a model compiles under strict TypeScript and runs from it', async () => {
  writeFileSync(join(project, 'model.gguf'), gunzipSync(readFileSync('test/golden/models/llama-Q8_0.gguf.gz')));
  writeFileSync(join(project, 'generate.ts'), example('generate.ts', NAME).replaceAll(`${NAME}/engine`, NAME));
  writeFileSync(join(project, 'plan.ts'), PLAN);
  await compile(project, ['generate.ts', 'plan.ts'], ['node']);
  // The package's own script would compile the addon for minutes; here it is the clone's.
  const env = { HEARTH_ADDON: join(process.cwd(), 'native/build/release/hearth.node'), ...process.env };
  const { stdout } = await run(process.execPath, ['out/generate.js'], { cwd: project, env });
  assert.match(stdout, /./);
  const planned = await run(process.execPath, ['out/plan.js'], { cwd: project, env });
  assert.match(planned.stdout, /^(ring|split) [1-9]\d*\n$/);
});

const [script, optional] = [join(installed, 'install.js'), '--optional'];

test('without a compiler its installation says so, and the engine runs and says what to do', async () => {
  const env = { ...process.env, CXX: join(project, 'no-compiler'), HEARTH_ADDON: join(project, 'no-addon') };
  const { stderr } = await run(process.execPath, [script, optional], { env });
  assert.match(stderr, /^native kernels: no C\+\+ compiler \(looked for .*no-compiler\); install g\+\+ 11 or clang 14/);
  assert.match(stderr, /not built; the engine runs on its plain TypeScript kernels/);
  const generated = await run(process.execPath, ['out/generate.js'], { cwd: project, env });
  assert.match(generated.stderr, /reference kernels, slowly; install g\+\+ and run: npm rebuild\n$/);
  assert.match(generated.stdout, /./);
});

const COMPILER = compiler();

/** The compiler that the installation would take. */
function compiler(): string | undefined {
  return [process.env.CXX ?? 'c++', 'g++', 'clang++'].find((name) => {
    try {
      execFileSync(name, ['--version'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
}

testIf(COMPILER !== undefined, 'no C++ compiler', 'its installation finds every source and header', async () => {
  // Preprocesses each source as it would be compiled, which takes seconds in place of minutes, and links nothing.
  const wrapper = join(project, 'preprocessor');
  const text = `#!/bin/sh
case " $* " in
  *" --version "*) exec ${COMPILER} --version ;;
  *" -c "*) exec ${COMPILER} -E "$@" ;;
esac
for last; do :; done
echo linked >"$last"
`;
  writeFileSync(wrapper, text);
  chmodSync(wrapper, 0o755);
  const { stdout, stderr } = await run(process.execPath, [script, optional], { env: { ...process.env, CXX: wrapper } });
  const addon = join(installed, 'dist/native/build/release/hearth.node');
  assert.equal([stdout, stderr], [`native kernels: built ${addon}\n`, '']);
  const objects = readdirSync(join(installed, 'dist/native/build/release')).filter((name) => name.endsWith('.o'));
  const sources = readdirSync('native', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.cpp'));
  assert.is(objects.length, sources.length);
});

test.run();
