import { readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { build } from 'esbuild';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/** Folders that run in a browser: the pure parts of the engine, the simulator, and the lab's records. */
const PURE = [
  'engine/input',
  'engine/batch',
  'engine/experts',
  'engine/hardware',
  'engine/model',
  'engine/plan',
  'engine/cost',
  'engine/schedule',
  'planner',
  'engine/trace',
  'simulator',
  'datasets/lab',
];

/** The forward pass on kernels that need no files, which a lesson runs, and on those of a GPU. */
const FORWARD_PASS = [
  'engine/runtime/texts/create-transformer.ts',
  'engine/runtime/weights/transformer-weights.ts',
  'engine/kernels/reference/kernels-in-memory.ts',
  'engine/runtime/split/model-part.ts',
  'engine/kernels/webgpu/webgpu-kernels.ts',
  'engine/kernels/webgpu/open-device.ts',
];

const { metafile } = await build({
  entryPoints: [
    ...FORWARD_PASS,
    ...PURE.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${folder}/${file}`),
    ),
  ],
  bundle: true,
  write: false,
  outdir: 'unused',
  metafile: true,
  format: 'esm',
  platform: 'browser',
  logLevel: 'silent',
  // The WebAssembly solver detects Node at run time; its Node branch isn't bundled.
  external: ['highs'],
});
const imports = Object.entries(metafile.inputs).flatMap(([file, input]) =>
  input.imports.map(({ path }) => ({ file, path })),
);

test('the pure parts bundle for a browser without any Node module', () => {
  const fromNode = imports.filter(({ path }) => path.startsWith('node:') || builtinModules.includes(path));
  assert.equal(fromNode, []);
  assert.ok(imports.some(({ file }) => file === 'engine/schedule/exact/optimal.ts'));
});

test.run();
