import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { type Running, startWorkerProcess } from '../ring/processes.ts';
import { testIf } from '../support/needs.ts';
import { hearthHere, runScript } from '../support/run-script.ts';

const started: Running[] = [];
let [folder, model] = ['', ''];
const SHAPE = `name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size,trained_context,experts,experts_used,tied_embeddings,qkv_bias,default_mix,provenance
small,olmoe,4,128,64,4,4,32,1024,512,16,2,false,false,Q8_0,assumed: a test`;
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-experts-'));
  model = join(folder, 'small.gguf');
  const shapes = join(folder, 'small.csv');
  writeFileSync(shapes, SHAPE);
  const { code, stderr } = await hearthHere('make-model', '--model-file', shapes, '--shape', 'small', '--out', model);
  assert.is(code, 0, stderr);
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const PROMPT = ['--prompt', 'The weights', '--tokens', '6', '--temperature', '0', '--context', '64'];
const USUAL = { slots: 3, pool: 'layer', eviction: 'lru', method: 'direct', layout: 'file', depth: 2, hitsFirst: true };
const EXPERTS = { ...USUAL, lookahead: { kind: 'previous-token' } };
const place = (device: string, processor = 'cpu') => ({ device, processor });

/** Writes a plan for h, w and o. @returns its path */
function planFile(name: string, { experts = EXPERTS as object, processor = 'cpu' } = {}): string {
  const stages = [
    { ...place('h'), from: 0, to: 1 },
    { ...place('w', processor), from: 1, to: 3 },
    { ...place('o'), from: 3, to: 4 },
  ];
  const own = { prefetch: 'none', release: 'none', experts };
  const plan = { rounds: 1, stages, embedding: place('h'), output: place('h'), kvCache: 'with-layers' };
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ ...plan, weights: { h: own, w: own } }));
  return path;
}

/** Writes a cluster whose workers have these addresses. @returns its path */
function clusterFile(w: string, o: string): string {
  const path = join(folder, 'ring.json');
  const devices = [{ name: 'h' }, { name: 'w', address: w }, { name: 'o', address: o }];
  writeFileSync(path, JSON.stringify({ devices }));
  return path;
}

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'processes have the tokens of one, and each that caches says in a line what it needed and read',
  async () => {
    const [w, o] = await Promise.all([startWorkerProcess(model), startWorkerProcess(model)]);
    started.push(w.running, o.running);
    const saved = join(folder, 'saved.json');
    const links = ['--cluster', clusterFile(w.address, o.address), '--plain'];
    const given = ['--plan', planFile('fit.json', { experts: { ...EXPERTS, slots: 'fit' } }), '--save-plan', saved];
    const ring = await runScript('bin/hearth.js', 'run', '--model', model, ...PROMPT, '--json', ...links, ...given);
    const alone = await runScript('bin/hearth.js', 'generate', '--model', model, ...PROMPT, '--json');
    assert.is(ring.code, 0, ring.stderr);
    assert.equal(JSON.parse(ring.stdout).tokens, JSON.parse(alone.stdout).tokens);
    const lines = ring.stderr.split('\n').filter((line) => line.includes(': experts: '));
    assert.is(lines.length, 2, ring.stderr);
    assert.match(lines[0] as string, /^h: experts: \d+ needed, .* in memory; \d+ were read, .* in all, .* of waiting$/);
    assert.match(lines[1] as string, /^w: experts: \d+ needed, /);
    assert.match(ring.stderr, /^w: .* of weights: of the experts 16 stay of each layer, others are read /m);
    // The plan that was carried out has the slots that fitted.
    assert.equal(
      Object.values(JSON.parse(readFileSync(saved, 'utf8')).weights as Record<string, { experts?: { slots: number } }>)
        .map(({ experts }) => experts?.slots)
        .filter((slots) => slots !== undefined),
      [16, 16],
    );
    for (const { running } of [w, o]) {
      running.child.kill('SIGTERM');
      assert.is(await running.ended, 0);
    }
  },
);

test('what a ring doesn’t carry out is refused in one line, before any device is reached', async () => {
  const links = ['--cluster', clusterFile('tcp://127.0.0.1:9', 'tcp://127.0.0.1:11'), '--plain'];
  const refusal = async (plan: string, ...more: string[]): Promise<string> => {
    const { code, stderr } = await hearthHere('run', '--model', model, ...PROMPT, ...links, '--plan', plan, ...more);
    assert.is(code, 2, stderr);
    const lines = stderr
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('native kernels: '));
    assert.is(lines.length, 1, stderr);
    return lines[0] as string;
  };
  assert.match(
    await refusal(planFile('gpu.json', { processor: 'gpu' })),
    /gpu\.json: weights\.w\.experts: is for a device whose GPU has layers or the output; move them to its CPU, or remove "experts"$/,
  );
  assert.match(
    await refusal(planFile('packed.json', { experts: { ...EXPERTS, layout: 'packed' } })),
    /packed\.json: weights\.h\.experts\.layout: is "packed", which is read on one machine alone/,
  );
  assert.match(
    await refusal(planFile('deep.json', { experts: { ...EXPERTS, depth: 65 } })),
    /weights\.h\.experts\.depth: is 65; at most 64 reads are under way at once$/,
  );
  assert.match(
    await refusal(planFile('few.json', { experts: { ...EXPERTS, slots: 1 } })),
    /weights\.h\.experts\.slots: is 1; allowed: "fit" or a whole number from 2 to 16$/,
  );
  assert.match(
    await refusal(planFile('good.json'), '--release', 'drop'),
    /--release: is not for devices that cache experts/,
  );
});

test.run();
