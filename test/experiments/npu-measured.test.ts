import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../datasets/load.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { chipDevice } from '../../engine/hardware/chip.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { LAYER_OPERATORS, modelOperators, OPERATORS, type OperatorName } from '../../engine/model/operators.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from '../../engine/plan/tensor-partition.ts';
import { openStandIn } from '../../engine/ring/device/npu/stand-in.ts';
import { loadPartitionedTransformer } from '../../engine/runtime/cut/partitioned-transformer.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { slowedChip } from '../../experiments/measure/slowed-chip.ts';
import { nmse } from '../runtime/nmse.ts';
import { checkFirstScreen } from '../support/first-screen.ts';
import { goldenModel } from '../support/golden-models.ts';
import { runHere } from '../support/run-script.ts';

const SCRIPT = 'experiments/npu-measured.ts';
const CHIP = chipDevice(loadCluster('hetero-8gen3').devices[0] as Device);
const MEASURED = {
  flops: 1e9,
  bandwidth: 2e8,
  attention: 1e8,
  promptAttention: 3e8,
  activations: 1e9,
  dispatch: 1e-5,
  handOver: { fast: 1e-5, naive: 5e-5, naivePerToken: 1e-6 },
  oversleep: 1e-4,
};

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-npu-'));
});
test.after(() => rmSync(folder, { recursive: true }));

test('a slowed chip keeps the advantage of its NPU, and its tiles', () => {
  const { gpu, npu, soc } = slowedChip(CHIP, MEASURED);
  assert.equal([gpu.flops.F16, gpu.bandwidth], [1e9, 2e8]);
  const advantage = npu.flops.F16 / gpu.flops.F16 / (CHIP.npu.flops.F16 / CHIP.gpu.flops.F16);
  assert.ok(Math.abs(advantage - 1) < 1e-12, `${advantage}`);
  assert.is(soc.npu.tile, CHIP.soc.npu.tile);
});

const PROMPT = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
for (const synchronisation of SYNCHRONISATIONS) {
  test(`what stands for an NPU computes its part with ${synchronisation} synchronisation`, async () => {
    const file = goldenModel('llama-Q8_0');
    const model = modelFromGguf(withFile(file, readGguf));
    const operators = modelOperators(model);
    const cut = (name: OperatorName, tokens: number): OperatorCut => ({
      npuRows: Math.ceil(operators[name].rows / 2) + 1,
      npuLengths: tokens === 1 ? [1] : [4, 4, 4],
    });
    const of = <Name extends OperatorName>(names: readonly Name[], tokens: number) =>
      Object.fromEntries(names.map((name) => [name, cut(name, tokens)])) as Record<Name, OperatorCut>;
    const partition: TensorPartition = {
      ...{ synchronisation, graphs: 'prepared', promptTokens: PROMPT.length },
      prefill: of(LAYER_OPERATORS, PROMPT.length),
      decode: of(OPERATORS, 1),
    };
    const main = openKernels({ implementation: 'reference' });
    const kernels = { implementation: 'reference' } as const;
    const sizes = { graphTokens: 12, ownTokens: PROMPT.length };
    const second = await openStandIn({ file, model, device: CHIP, kernels, partition, ...sizes });
    try {
      const whole = loadTransformer(file, { kernels: main, context: 16, kvCache: 'F32' });
      const shared = loadPartitionedTransformer(file, { main, second, partition, context: 16, kvCache: 'F32' });
      for (const tokens of [PROMPT, [20], [21]]) {
        const error = nmse(await shared.evaluate(tokens), whole.evaluate(tokens));
        assert.ok(error < 1e-12, `${error}`);
      }
      shared.close();
    } finally {
      await second.close();
      main.close();
    }
  });
}

test('every system is predicted, simulated and measured', async () => {
  const out = join(folder, 'results');
  const small = ['--lengths', '34', '--tokens', '1', '--repeats', '1', '--json'];
  const { code, stdout, stderr } = await runHere(SCRIPT, '--model', goldenModel('llama-Q8_0'), ...small, '--out', out);
  assert.is(code, 0, stderr);
  const { cells, measured, regrets } = JSON.parse(stdout);
  assert.is(cells.length, 12);
  assert.equal(
    cells
      .filter(({ mode }: { mode: string }) => mode === 'real execution')
      .map(({ system }: { system: string }) => system),
    ['hetero-tensor'],
  );
  assert.is(regrets.length, 1);
  // No other choice of the same cuts is quicker by the times by which it was chosen.
  assert.ok(regrets[0].decode >= -1e-9 && regrets[0].prefill >= -1e-9, JSON.stringify(regrets));
  for (const { prefill, decode } of cells)
    for (const { predicted, simulated, measured: took } of [prefill, decode])
      assert.ok(predicted > 0 && simulated > 0 && took.median > 0);
  assert.ok(measured.handOver.fast >= 0 && measured.handOver.naive > 0);
  checkFirstScreen(join(out, 'report.html'));
  assert.ok(existsSync(join(out, 'cells.csv')));
});

test('a cluster without an NPU is refused before anything is measured', async () => {
  const { code, stderr } = await runHere(SCRIPT, '--cluster', 'home-example', '--out', folder);
  assert.is(code, 2);
  assert.match(stderr, /has no "npu"|shares the RAM/);
});

test.run();
