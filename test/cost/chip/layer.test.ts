import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chipSeconds } from '../../../engine/cost/chip/layer.ts';
import { predictChip } from '../../../engine/cost/chip/predict-chip.ts';
import { totalLayerSeconds } from '../../../engine/cost/layer-seconds.ts';
import { createRingCosts } from '../../../engine/cost/ring-costs.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { GPU_ONLY, type OperatorCut, type TensorPartition } from '../../../engine/plan/tensor-partition.ts';
import { near } from '../../support/near.ts';
import { TOY_CHIP_MODEL, TOY_SOC, toyChip } from '../../support/toy-chip.ts';
import { TOY_RUNTIME, toyCluster, toyDevice } from '../../support/toy-cluster.ts';

const WORKLOAD = createWorkload({ promptTokens: 4, context: 20 });

/** A partition that cuts every operator alike: one cut for a prompt of 4 tokens, one for a single token. */
function partition(given: Partial<TensorPartition>, prompt: OperatorCut, token: OperatorCut): TensorPartition {
  const of = (cut: OperatorCut) => ({ qkv: cut, 'attention-output': cut, 'gate-up': cut, down: cut });
  return {
    synchronisation: 'fast',
    graphs: 'prepared',
    promptTokens: 4,
    prefill: of(prompt),
    decode: { ...of(token), output: token },
    ...given,
  };
}
const ON_GPU = partition({}, GPU_ONLY, GPU_ONLY);

test('a kernel on the GPU takes the longer of its arithmetic and its bytes, computed by hand', () => {
  const { layer, output } = chipSeconds(
    { device: toyChip(), model: TOY_CHIP_MODEL, partition: ON_GPU, phase: 'decode' },
    WORKLOAD,
  );
  // 64 FLOP/s, 100 B/s: qkv 256 FLOPs or 256 + 48 B, attention output 128 or 160, gate and up 384 or 448, down 192 or
  // 232; attention 4·2·4·20 = 640 FLOPs; norms, RoPE and SwiGLU 32, 64, 64 and 72 B.
  near(layer.compute, (256 + 128 + 384 + 192 + 640) / 64);
  near(layer.memory, (32 + 64 + 64 + 72) / 100);
  assert.is(layer.overhead, 0);
  // The output layer: 640 FLOPs or 640 + 96 B; its norm 64 B.
  near(totalLayerSeconds(output), 640 / 64 + 64 / 100);
});

test('submissions that outlast a layer’s kernels add the difference: 9 of 4 s against 25.32 s', () => {
  const device = toyChip({ gpu: { ...TOY_SOC.gpu, queued: 4 } });
  const { layer } = chipSeconds({ device, model: TOY_CHIP_MODEL, partition: ON_GPU, phase: 'decode' }, WORKLOAD);
  near(layer.overhead, 9 * 4 - (layer.compute + layer.memory));
});

test('a whole chip takes the sum of its layers and its output layer', () => {
  for (const synchronisation of ['fast', 'naive'] as const) {
    const npu = (length: number): OperatorCut => ({ npuRows: 4, npuLengths: [length] });
    const cut = partition({ synchronisation }, npu(4), npu(1));
    const parts = { device: toyChip(), model: TOY_CHIP_MODEL, partition: cut };
    const whole = predictChip(parts, WORKLOAD.context);
    for (const phase of ['prefill', 'decode'] as const) {
      const { layer, output } = chipSeconds({ ...parts, phase }, WORKLOAD);
      near(TOY_CHIP_MODEL.layers * totalLayerSeconds(layer) + totalLayerSeconds(output), whole[phase].seconds);
    }
  }
});

test('a ring uses these seconds for a chip with cut operators, and its own formulas for other devices', () => {
  const cluster = toyCluster([toyDevice('pc'), toyChip(), { ...toyChip(), name: 'whole' }]);
  const partitions = new Map([['chip', ON_GPU]]);
  const costs = createRingCosts(cluster, TOY_CHIP_MODEL, WORKLOAD, { ...TOY_RUNTIME, partitions });
  const uncut = createRingCosts(cluster, TOY_CHIP_MODEL, WORKLOAD, TOY_RUNTIME);
  const { layer } = chipSeconds(
    { device: toyChip(), model: TOY_CHIP_MODEL, partition: ON_GPU, phase: 'decode' },
    WORKLOAD,
  );
  assert.is(costs.devices[1]?.gpuLayer, totalLayerSeconds(layer));
  assert.is(costs.devices[1]?.cpuLayer, uncut.devices[1]?.cpuLayer);
  assert.equal([costs.devices[0], costs.devices[2]], [uncut.devices[0], uncut.devices[2]]);
});

test('several requests and a prompt of another length are refused', () => {
  const parts = { device: toyChip(), model: TOY_CHIP_MODEL, partition: ON_GPU } as const;
  assert.throws(
    () => chipSeconds({ ...parts, phase: 'decode' }, { ...WORKLOAD, batch: 2 }),
    'workload.batch: is 2; operators are cut for one request: use 1',
  );
  assert.throws(
    () => chipSeconds({ ...parts, phase: 'prefill' }, { ...WORKLOAD, promptTokens: 5 }),
    'workload.promptTokens: is 5, but the plan cuts a prompt of 4; make a plan for this one',
  );
});

test.run();
