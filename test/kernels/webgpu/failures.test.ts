import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openFile } from '../../../engine/gguf/file-source.ts';
import { openDevice } from '../../../engine/kernels/webgpu/open-device.ts';
import { scratchFile } from '../../../engine/kernels/webgpu/scratch-file.ts';
import { vulkanDrivers } from '../../../engine/kernels/webgpu/vulkan-drivers.ts';
import { webgpuKernels } from '../../../engine/kernels/webgpu/webgpu-kernels.ts';
import { goldenModel } from '../../support/golden-models.ts';
import { GPU_ENVIRONMENT, GPU_MISSING } from '../../support/gpu.ts';
import { testIf } from '../../support/needs.ts';
import { type Ended, runCommand } from '../../support/run-script.ts';
import { kernelsWith } from './kernels-with.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-drivers-'));
test.after(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const manifest = (name: string, library: string): string =>
  write(name, JSON.stringify({ file_format_version: '1.0.0', ICD: { library_path: library, api_version: '1.1.0' } }));

const hearth = (drivers: string, ...options: readonly string[]): Promise<Ended> =>
  runCommand(['env', `VK_DRIVER_FILES=${drivers}`, process.execPath, 'bin/hearth.js', ...options]);

/** Manifests of drivers that are none, and what is said about each. */
function brokenDrivers(): (readonly [path: string, problem: string])[] {
  const text = write('text.so', 'not a library');
  return [
    ['/nonexistent.json', '/nonexistent.json can’t be read (ENOENT)'],
    ...[write('text.json', 'text')].map((path) => [path, `${path} is not JSON`] as const),
    ...[write('empty.json', '{}')].map((path) => [path, `${path} names no ICD.library_path`] as const),
    ...[manifest('gone.json', './gone.so')].map(
      (path) => [path, `${path} names ${join(folder, 'gone.so')}, which can’t be read (ENOENT)`] as const,
    ),
    ...[manifest('library.json', text)].map(
      (path) => [path, `${path} names ${text}, which is no 64-bit library`] as const,
    ),
  ];
}

test('broken drivers are named with what is wrong, and a name without folder is left to the system', () => {
  for (const [path, problem] of brokenDrivers())
    assert.equal(vulkanDrivers({ VK_DRIVER_FILES: path }), {
      usable: [],
      problems: [problem],
      variable: 'VK_DRIVER_FILES',
    });
  const named = manifest('named.json', 'libvulkan_test.so');
  const { usable, problems } = vulkanDrivers({ VK_ICD_FILENAMES: `/nonexistent.json:${named}` });
  assert.equal(usable, [named]);
  assert.equal(problems, ['/nonexistent.json can’t be read (ENOENT)']);
});

testIf(process.platform === 'linux', 'only Linux', 'with a broken driver, commands end in one line', async () => {
  const drivers = brokenDrivers().map(([path]) => path);
  const problems = brokenDrivers().map(([, problem]) => problem);
  const generate = [
    ...['generate', '--model', goldenModel('llama-Q8_0'), '--prompt', 'a', '--tokens', '1'],
    ...['--gpu-layers', '1'],
  ];
  const { code, stdout, stderr } = await hearth(drivers.join(':'), ...generate);
  assert.is(stderr, `GPU: none was found (${problems.join('; ')}); run on the CPU instead\n`);
  assert.is(stdout, '');
  assert.is(code, 2);
});

testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', 'a broken driver next to one that works is ignored', async () => {
  const { VK_DRIVER_FILES: works } = { ...process.env, ...GPU_ENVIRONMENT };
  if (works === undefined) return;
  const { code, stdout, stderr } = await hearth(`/nonexistent.json:${works}`, 'inspect', '--devices', '--json');
  assert.is(stderr, '');
  assert.is(JSON.parse(stdout).length, 1);
  assert.is(code, 0);
});

/** The library that a manifest names. */
function libraryOf(path: string): string {
  const { ICD } = JSON.parse(readFileSync(path, 'utf8')) as { ICD: { library_path: string } };
  return resolve(dirname(path), ICD.library_path);
}

testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', 'a driver that ends its process is named', async () => {
  const { VK_DRIVER_FILES: works } = { ...process.env, ...GPU_ENVIRONMENT };
  if (works === undefined) return;
  // The loader maps what its header promises, and ends at what the file lacks.
  const half = readFileSync(libraryOf(works));
  writeFileSync(join(folder, 'half.so'), half.subarray(0, half.length / 4));
  const damaged = manifest('half.json', './half.so');
  const problem = `the driver of ${damaged} ends the process that loads it (SIGBUS)`;
  const model = goldenModel('llama-Q8_0');
  const generated = await hearth(damaged, 'generate', '--model', model, '--prompt', 'a', '--gpu-layers', '1');
  assert.is(generated.stderr, `GPU: none was found (${problem}); run on the CPU instead\n`);
  assert.is(generated.code, 2);
  // An address of another machine: the worker ends, after it has looked for a GPU.
  const worker = await hearth(damaged, 'worker', '--model', model, '--plain', '--listen', 'tcp://192.0.2.1:7400');
  const [first, second = ''] = worker.stderr.split('\n');
  assert.is(first, `no GPU is used: ${problem}`);
  assert.match(second, /^tcp:\/\/192\.0\.2\.1:7400: can’t be listened at/);
  assert.is(worker.code, 2);
  const listed = await hearth(`${damaged}:${works}`, 'inspect', '--devices', '--json');
  assert.is(listed.stderr, `${problem}\n`);
  assert.is(JSON.parse(listed.stdout).length, 1);
  assert.is(listed.code, 0);
});

testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', 'a lost device is one line with a remedy', async () => {
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create([]);
  const { device } = await openDevice(gpu);
  const kernels = webgpuKernels({ device, adapter: 'Test GPU', openFile, openScratch: scratchFile, packedDot: false });
  const x = kernels.vector([1, 2]);
  kernels.run([{ kind: 'add', x, y: x }]);
  device.destroy();
  const lost = async (): Promise<string> => {
    const reading = kernels.read(x) ?? Promise.resolve();
    return await reading.then(
      () => 'read',
      (error: Error) => `${error.constructor.name} ${error.message}`,
    );
  };
  const expected = /^DeviceFailureError Test GPU: the device was lost \(.*\); try again, with fewer layers on it$/;
  assert.match(await lost(), expected);
  assert.match(await lost(), expected);
  kernels.close();
});

testIf(
  GPU_MISSING === undefined,
  GPU_MISSING ?? '',
  'a device without memory for activations is one line',
  async () => {
    let report: (event: { readonly error: GPUError }) => void = () => {};
    const listen = (_: string, listener: typeof report): void => {
      report = listener;
    };
    const kernels = await kernelsWith(() => ({ addEventListener: listen as GPUDevice['addEventListener'] }));
    report({ error: new GPUOutOfMemoryError('vectors') });
    const refused = await Promise.resolve(kernels.read(kernels.vector(1))).catch((error: Error) => error.message);
    assert.is(refused, 'Test GPU: has no memory for activations; try again, with fewer layers on it');
    kernels.close();
  },
);

test.run();
