import { builtinModules } from 'node:module';
import { build } from 'esbuild';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

test('reading, decoding and encoding import no Node module', async () => {
  const entries = ['read-gguf', 'describe-gguf', 'formats/formats', 'encode-header', 'make/made-model'];
  const { metafile } = await build({
    entryPoints: entries.map((name) => `engine/gguf/${name}.ts`),
    bundle: true,
    write: false,
    outdir: 'unused',
    metafile: true,
    format: 'esm',
    platform: 'browser',
    logLevel: 'silent',
    external: ['node:*'],
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports.map(({ path }) => path));
  assert.equal(
    imports.filter((path) => path.startsWith('node:') || builtinModules.includes(path)),
    [],
  );
  assert.ok(imports.includes('engine/gguf/formats/k-quants.ts'));
});

test.run();
