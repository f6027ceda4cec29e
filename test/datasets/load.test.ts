import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  clusterKeys,
  createHelmModel,
  createNamedModel,
  loadCatalogue,
  loadCluster,
  loadClusterFile,
  loadModels,
  loadPlan,
  loadPublished,
} from '../../datasets/load.ts';

const test = suite('load');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'load-'));
});
test.after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function message(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message.replaceAll(folder, '');
  }
  return 'nothing was thrown';
}

test('a cluster loaded by key has its head first', () => {
  assert.equal(
    loadCluster('prima-home').devices.map(({ name }) => name),
    ['D3', 'D4', 'D1', 'D2'],
  );
});

test('every cluster on file loads', () => {
  for (const key of clusterKeys()) assert.is(loadCluster(key).name, key);
});

test('a cluster loaded by path has the facts of its file', () => {
  const path = file(
    'one.json',
    `{ "name": "one", "devices": [{
      "name": "pc", "os": "linux",
      "memory": { "total": { "value": "8 GB", "source": "specification: the board" } },
      "cpu": { "cores": 4, "compute": "100 GFLOPS", "bandwidth": { "value": "40 GB/s", "efficiency": 0.5, "source": "assumed" } },
      "disk": { "sequential": "1 GB/s" } }],
      "links": { "default": { "latency": "1 ms", "bandwidth": "1 Gbps" } } }`,
  );
  const { cluster, statements } = loadClusterFile(path);
  assert.is(cluster.devices[0]?.cpu.bandwidth, 20e9);
  assert.equal(statements, [
    { place: 'pc memory.total', value: '8 GB', efficiency: 1, kind: 'specification', source: 'the board' },
    { place: 'pc cpu.compute', value: '100 GFLOPS', efficiency: 1, kind: 'unstated', source: '' },
    { place: 'pc cpu.bandwidth', value: '40 GB/s', efficiency: 0.5, kind: 'assumed', source: '' },
    { place: 'pc disk.sequential', value: '1 GB/s', efficiency: 1, kind: 'unstated', source: '' },
    { place: 'links.default.latency', value: '1 ms', efficiency: 1, kind: 'unstated', source: '' },
    { place: 'links.default.bandwidth', value: '1 Gbps', efficiency: 1, kind: 'unstated', source: '' },
  ]);
});

test('an unknown key is an error that names the option and suggests the nearest key', () => {
  assert.is(
    message(() => loadCluster('prima-hone', '--belief')),
    '--belief: no cluster is called "prima-hone"; did you mean "prima-home"?',
  );
});

test('a missing file is an error that lists the alternatives', () => {
  assert.match(
    message(() => loadCluster(join(folder, 'nowhere.json'))),
    /^\/nowhere\.json: there is no such file; give the path of a cluster file, or one of four-small, helm-3090, /,
  );
  assert.is(message(() => loadCluster(folder)).split(';')[0], ': is a directory, a file is needed');
});

test('a file that is too large is refused without being read', () => {
  const path = file('large.json', ' '.repeat(5_100_000));
  assert.is(
    message(() => loadCluster(path)),
    '/large.json: has 5.1 MB; at most 5 MB are read, is it the right file?',
  );
});

test('malformed JSON is reported with line and column', () => {
  const path = file('broken.json', '{\n  "name": "x",\n  "devices": [}\n}');
  assert.match(
    message(() => loadCluster(path)),
    /^\/broken\.json: line 3, column 15: is not valid JSON/,
  );
});

test('a model has the catalogue’s mix unless another one is given', () => {
  const catalogue = loadCatalogue();
  assert.is(createNamedModel(catalogue, 'Llama-3-8B').mix, 'Q4_K_M');
  assert.is(createNamedModel(catalogue, 'Llama-3-8B:Q8_0').mix, 'Q8_0');
  assert.is(
    message(() => createNamedModel(catalogue, 'Llama-3-8')),
    '--models: no model is called "Llama-3-8"; did you mean "Llama-3-8B"?',
  );
  assert.is(
    message(() => createNamedModel(catalogue, 'Llama-3-8B:Q4_K_X')),
    '--models: Llama-3-8B: no mix is called "Q4_K_X"; did you mean "Q4_K_M"?',
  );
});

test('a model’s name may have a colon', () => {
  const [one] = loadCatalogue();
  if (one === undefined) return assert.unreachable();
  const named = (name: string) => ({ ...one, shape: { ...one.shape, name } });
  const catalogue = [named('DeepSeek: R1'), named('a:Q8_0'), named('a')];
  const of = (name: string): string => {
    const { name: found, mix } = createNamedModel(catalogue, name);
    return `${found} as ${mix}`;
  };
  assert.is(of('DeepSeek: R1'), 'DeepSeek: R1 as Q4_K_M');
  assert.is(of('DeepSeek: R1:Q8_0'), 'DeepSeek: R1 as Q8_0');
  assert.is(of('a:Q8_0'), 'a:Q8_0 as Q4_K_M');
  assert.is(of('a:Q8_0:F16'), 'a:Q8_0 as F16');
  assert.is(of('a:F16'), 'a as F16');
  assert.is(createHelmModel(catalogue, 'DeepSeek: R1').mix, 'BF16');
});

test('a user’s models come before those on file, and in place of one of the same name', () => {
  const header = 'name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size';
  const path = file(
    'mine.csv',
    `${header},tied_embeddings,qkv_bias,default_mix,provenance\n${['Mine', 'Llama-3-8B'].map((name) => `${name},llama,2,64,128,4,2,16,1000,false,false,F16,assumed: a toy\n`).join('')}`,
  );
  const onFile = loadCatalogue().map(({ shape }) => shape.name);
  assert.equal(
    loadCatalogue(path).map(({ shape }) => shape.name),
    ['Mine', 'Llama-3-8B', ...onFile.filter((name) => name !== 'Llama-3-8B')],
  );
  assert.equal(
    loadModels(path).map(({ shape }) => [shape.name, shape.layers]),
    [
      ['Mine', 2],
      ['Llama-3-8B', 2],
    ],
  );
  const bad = file(
    'bad.csv',
    `${header},tied_embeddings,qkv_bias,default_mix,provenance\nMine,llama,-2,64,128,4,2,16,1000,false,false,F16,\n`,
  );
  assert.is(
    message(() => loadCatalogue(bad)),
    '/bad.csv: row 2, column layers: "-2" is not a whole number between 1 and 1000',
  );
});

test('a missing plan is an error that says where plans come from', () => {
  assert.is(
    message(() => loadPlan(join(folder, 'plan.json'))),
    '/plan.json: there is no such file; give a plan (JSON), such as a sweep writes to plans/',
  );
});

test('the published cells hold prima.cpp Table 4', () => {
  const table = loadPublished().filter(({ paper, table }) => paper === 'prima-cpp' && table === 'Table 4');
  const cell = table.find(({ row, column }) => row === '70B' && column === 'prima.cpp TPOT');
  assert.is(table.length, 70);
  assert.is(cell?.value, 674);
  assert.is(cell?.use, 'held-out');
});

test('no model of the catalogue is unquantized unless asked for, and HELM’s are in the thesis’s BF16', () => {
  const catalogue = loadCatalogue();
  for (const { shape, defaultMix } of catalogue) assert.match(defaultMix, /^(Q4_K_[MS]|MXFP4_MOE)$/, shape.name);
  assert.is(createNamedModel(catalogue, 'Qwen3-8B').mix, 'Q4_K_M');
  assert.is(createHelmModel(catalogue, 'Qwen3-8B').mix, 'BF16');
  assert.is(createHelmModel(catalogue, 'Qwen3-8B:Q8_0').mix, 'Q8_0');
});

test.run();
