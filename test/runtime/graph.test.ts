import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { attentionFlops, kvCacheBytes } from '../../engine/cost/layer-seconds.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import type { WeightGroup } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { modelGraph } from '../../engine/runtime/pass/graph.ts';
import { GOLDEN_MODELS, goldenModel } from '../support/golden-models.ts';
import { hearthHere } from '../support/run-script.ts';

const graphOf = (name: (typeof GOLDEN_MODELS)[number], tokens: number, context: number) =>
  withFile(goldenModel(name), (bytes) => modelGraph(readGguf(bytes), bytes, { tokens, context }));

for (const name of GOLDEN_MODELS) {
  test(`${name}: the graph has the operators that the forward pass runs, in their order`, () => {
    const kinds: string[] = [];
    const kernels = openKernels({ implementation: 'reference' });
    const recording: Kernels = {
      ...kernels,
      run(operations) {
        kinds.push(...operations.map(({ kind }) => kind));
        kernels.run(operations);
      },
    };
    loadTransformer(goldenModel(name), { kernels: recording, context: 8 }).evaluate([1, 2, 3]);
    const { units } = graphOf(name, 3, 3);
    assert.equal(
      units.flatMap(({ nodes }) => nodes.map(({ kind }) => kind)),
      kinds,
    );
  });

  test(`${name}: FLOPs and bytes are those that the cost model counts`, () => {
    const model = modelFromGguf(withFile(goldenModel(name), readGguf));
    const { units } = graphOf(name, 1, 20);
    const flopsOf = ({ flops }: WeightGroup): number => [...flops.values()].reduce((sum, one) => sum + one, 0);
    const layers = units.slice(1, -1);
    const workload = createWorkload({ context: 20 });
    const products = layers.flatMap(({ nodes }) => nodes.filter(({ kind }) => kind === 'multiply'));
    const flops = products.reduce((sum, node) => sum + node.flops, 0);
    assert.is(Math.round(flops), Math.round(model.layers * flopsOf(model.layer)));
    const attention = layers[0]?.nodes.find(({ kind }) => kind === 'attention');
    assert.equal(
      [attention?.flops, attention?.cacheBytes],
      [attentionFlops(model, workload), kvCacheBytes(model, workload)],
    );
    const matrices = model.tensors.filter(({ rows, layer }) => rows > 1 && layer !== undefined);
    assert.is(
      layers.reduce((sum, { weightBytes }) => sum + weightBytes, 0),
      matrices.reduce((sum, { bytes }) => sum + bytes, 0),
    );
  });
}

test('every operator waits for those that wrote what it reads', () => {
  const { units } = graphOf('llama-Q8_0', 2, 10);
  const nodes = units.flatMap((unit) => unit.nodes);
  const after = (index: number): string[] =>
    (nodes[index]?.after ?? []).map((from) => `${nodes[from]?.kind} ${nodes[from]?.weights?.tensor ?? ''}`.trim());
  const at = (kind: string): number => nodes.findIndex((node) => node.kind === kind);
  assert.equal(after(at('store')), ['rope', 'multiply blk.0.attn_v.weight']);
  assert.equal(after(at('attention')), ['rope', 'store']);
  assert.equal(after(at('gate')), ['multiply blk.0.ffn_gate.weight', 'multiply blk.0.ffn_up.weight']);
  // The residual stream: what attention reads and what the embedding wrote.
  const output = nodes.findIndex(({ weights }) => weights?.tensor === 'blk.0.attn_output.weight');
  assert.equal(after(output), ['attention', 'embed token_embd.weight']);
  assert.equal(units[0]?.crossing, { shape: [2, 256], bytes: 2 * 256 * 4 });
  assert.is(units.at(-1)?.crossing, undefined);
});

test('bytes of the KV cache are those of its format', () => {
  const cacheBytes = (kvFormat: KvFormat): number => {
    const path = goldenModel('llama-Q8_0');
    const given = { tokens: 1, context: 20, kvFormat };
    const { units } = withFile(path, (bytes) => modelGraph(readGguf(bytes), bytes, given));
    return units.reduce((sum, unit) => sum + unit.cacheBytes, 0);
  };
  // 34 and 18 bytes instead of 64 for 32 values.
  assert.equal([cacheBytes('Q8_0') / cacheBytes('F16'), cacheBytes('Q4_0') / cacheBytes('F16')], [34 / 64, 18 / 64]);
});

test('hearth inspect --graph: a table, JSON and DOT of one list', async () => {
  const model = goldenModel('llama-Q8_0');
  const [table, json, dot] = [
    await hearthHere('inspect', '--model', model, '--graph'),
    await hearthHere('inspect', '--model', model, '--graph', '--json'),
    await hearthHere('inspect', '--model', model, '--graph', '--dot'),
  ];
  assert.match(table.stdout, /^1 token, the last of which sees 512 positions; 4 partition units\./);
  assert.match(table.stdout, /layers 0–1 +rms-norm/);
  const long = await hearthHere('inspect', '--model', model, '--graph', '--tokens', '600');
  assert.match(long.stdout, /^600 tokens, the last of which sees 600 positions;/);
  const smaller = await hearthHere('inspect', '--model', model, '--graph', '--kv', 'q8_0', '--json');
  const cache = (text: string): number => JSON.parse(text).units[1].cacheBytes;
  assert.is(cache(smaller.stdout) / cache(json.stdout), 34 / 64);
  const nodes = JSON.parse(json.stdout).units.flatMap((unit: { nodes: unknown[] }) => unit.nodes);
  assert.is(dot.stdout.match(/^ {4}\d+ \[label=/gm)?.length, nodes.length);
  const wrong = await hearthHere('inspect', '--model', model, '--graph', '--tokens', '9', '--context', '8');
  assert.equal([wrong.code, wrong.stderr], [2, '--context: "8" is not a whole number between 9 and 10000000\n']);
  const forms = await hearthHere('inspect', '--model', model, '--graph', '--dot', '--json');
  assert.equal([forms.code, forms.stderr], [2, '--dot: and --json are two forms of the graph; give one\n']);
  const devices = await hearthHere('inspect', '--devices', '--graph');
  assert.equal([devices.code, devices.stderr], [2, '--graph: is of a model; give --model in place of --devices\n']);
  for (const [option, value] of [['--tokens', '2'], ['--context', '9'], ['--kv', 'q8_0'], ['--dot']] as const) {
    const alone = await hearthHere('inspect', '--model', model, option, ...(value === undefined ? [] : [value]));
    assert.equal([alone.code, alone.stderr], [2, `${option}: is used only with --graph; add it\n`]);
  }
});

test.run();
