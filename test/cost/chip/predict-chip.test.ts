import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { npuPart } from '../../../engine/cost/chip/operator.ts';
import { type ChipCase, chipCase, predictChip } from '../../../engine/cost/chip/predict-chip.ts';
import { type Activity, activityOfPair, energyOf } from '../../../engine/cost/energy.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { chipDevice } from '../../../engine/hardware/chip.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import type { KvFormat } from '../../../engine/model/kv-format.ts';
import { LAYER_OPERATORS, modelOperators } from '../../../engine/model/operators.ts';
import { createW4a16Model } from '../../../engine/model/w4a16.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan, Stage } from '../../../engine/plan/plan.ts';
import type { TensorPartition } from '../../../engine/plan/tensor-partition.ts';
import { CHIP_SYSTEM_NAMES, type ChipSystemName } from '../../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../../engine/schedule/tensor-partition/tensor-partition.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { near } from '../../support/near.ts';
import { TOY_CHIP_MODEL, toyChip } from '../../support/toy-chip.ts';
import { toyCluster, toyDevice } from '../../support/toy-cluster.ts';

const PHONE = loadCluster('hetero-8gen3');
const catalogue = loadCatalogue();

function planned(name: string, promptTokens: number, system: ChipSystemName = 'hetero-tensor-text') {
  const shape = catalogue.find((model) => model.shape.name === name)?.shape;
  if (shape === undefined) throw new RangeError(name);
  const model = createW4a16Model(shape);
  const workload = createWorkload({ promptTokens, context: 256 });
  const plan = tensorPartition({ belief: PHONE, model, workload }, { system }).plan as Plan;
  return { plan, model, workload, prediction: predictChip(chipCase(plan, PHONE, model) as ChipCase, 256) };
}

test('W4A16 stores four bits a value and one scale a row', () => {
  const model = createW4a16Model(catalogue.find((one) => one.shape.name === 'Llama-3-8B')!.shape);
  const matrices = model.tensors.filter(({ role }) => !role.endsWith('norm') && role !== 'token_embd');
  const rows = 32 * (4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096) + 128256;
  const bytes = matrices.reduce((sum, tensor) => sum + tensor.bytes, 0);
  assert.is(bytes, 7_504_658_432 / 2 + 2 * rows);
});

test('a smaller KV cache is read faster, predicted and simulated, by what its bytes take', () => {
  const { plan, model } = planned('Llama-3-8B', 256);
  const secondsOf = (context: number, kvFormat: KvFormat) => {
    const workload = createWorkload({ promptTokens: 256, outputTokens: 1, context, kvFormat });
    const given = { cluster: PHONE, model, plan, workload };
    const { trace } = simulate({ ...given, context: 'fixed', record: 'tokens' });
    const [, decoded] = trace.tokens;
    return {
      predicted: predict({ plan, truth: PHONE, model, workload }).tokenSeconds,
      simulated: (decoded?.end ?? 0) - (decoded?.start ?? 0),
    };
  };
  const [empty, half, full] = [secondsOf(0, 'F16'), secondsOf(4096, 'Q8_0'), secondsOf(4096, 'F16')];
  for (const answer of ['predicted', 'simulated'] as const) {
    const share = (half[answer] - empty[answer]) / (full[answer] - empty[answer]);
    near(share, 34 / 64, 0.05);
  }
});

test('decoding is within 5 % of the published rates, with one constant fitted to the 8B (HeteroLLM 5.3)', () => {
  const rate = (model: string): number => 1 / planned(model, 256).prediction.decode.seconds;
  near(rate('Llama-3-8B') / 14.01, 1, 0.002);
  near(rate('Llama-3.2-3B') / 29.9, 1, 0.05);
  near(rate('InternLM2-1.8B') / 51.12, 1, 0.05);
});

test('prefill is within 6 % of the published rates, with the NPU’s rate fitted to the 8B (5.2.1, 5.4)', () => {
  near(256 / planned('Llama-3-8B', 256).prediction.prefill.seconds / 236.92, 1, 0.002);
  near(256 / planned('InternLM2-1.8B', 256).prediction.prefill.seconds / 1092, 1, 0.06);
});

test('Padding and Pipe at 525 tokens are within 10 %, Online-prepare, which contradicts them, 16 % too good (5.2.2)', () => {
  const seconds = (system?: ChipSystemName): number => planned('Llama-3-8B', 525, system).prediction.prefill.seconds;
  const own = seconds();
  near(seconds('online-prepare') / own / 2.24, 0.84, 0.01);
  near(seconds('padding') / own / 2.21, 1, 0.1);
  near(seconds('pipe') / own / 1.35, 1, 0.1);
});

test('strategies are ordered as published, but for Online-prepare at 525 tokens, whose times contradict each other (5.2)', () => {
  const seconds = (tokens: number, system: ChipSystemName): number =>
    planned('Llama-3-8B', tokens, system).prediction.prefill.seconds;
  const ordered = (tokens: number, systems: readonly ChipSystemName[]): void => {
    const times = systems.map((system) => seconds(tokens, system));
    assert.equal(
      times,
      [...times].sort((a, b) => a - b),
      `${systems.join(', ')} at ${tokens}`,
    );
  };
  for (const tokens of [32, 64, 256, 1024]) ordered(tokens, ['hetero-tensor-text', 'hetero-layer', 'gpu-only']);
  for (const tokens of [135, 525]) ordered(tokens, ['hetero-tensor-text', 'pipe', 'padding']);
  ordered(135, ['hetero-tensor-text', 'pipe', 'padding', 'online-prepare']);
  ordered(1000, ['hetero-tensor-text', 'pipe', 'online-prepare']);
  // Printed are 2.24 × and 2.21 ×, which 2050 ms of preparation at 1000 tokens exclude.
  assert.ok(seconds(525, 'online-prepare') < seconds(525, 'padding'));
});

test('where rows are cut in FFN-down alone, the GPU has less than half of the work, and less than the solver gives it', () => {
  const busy = (system: ChipSystemName): number => {
    const { gpu, seconds } = planned('Llama-3-8B', 256, system).prediction.prefill.activity;
    return (gpu.calculating + gpu.waiting) / seconds;
  };
  assert.ok(busy('hetero-tensor-text') < 0.5);
  assert.ok(busy('hetero-tensor') > 0.9);
  const { plan, model } = planned('Llama-3-8B', 256);
  const operators = modelOperators(model);
  const { prefill } = (plan.stages[0] as Stage).partition as TensorPartition;
  assert.equal(
    LAYER_OPERATORS.filter((name) => prefill[name].npuRows < operators[name].rows),
    ['down'],
  );
});

test('weights are expanded for the first graph of an operator, and read expanded by the others', () => {
  const { model } = planned('Llama-3-8B', 64);
  const { down } = modelOperators(model);
  const device = chipDevice(PHONE.devices[0] as Device);
  const part = (...npuLengths: number[]): number =>
    npuPart({ operator: down, cut: { npuRows: down.rows, npuLengths } }, device).seconds;
  const values = down.rows * down.columns;
  const expanding = (2 * values) / device.soc.npu.dequantise;
  near(part(512, 512) - part(512), part(512) - expanding);
  // A short graph waits for the expanded weights: 2 bytes a value, and 32 tokens in and out in FP16.
  near(part(512, 32) - part(512), (2 * values + 64 * (down.rows + down.columns)) / device.npu.bandwidth, 0.2);
});

test('several decoded tokens have the cut of one and read the weights once', () => {
  const { plan, model, workload } = planned('Llama-3-8B', 256);
  const seconds = (verifiedTokens: number): number =>
    predict({ plan, truth: PHONE, model, workload, verifiedTokens }).tokenSeconds;
  near(seconds(1), planned('Llama-3-8B', 256).prediction.decode.seconds);
  assert.ok(seconds(6) > seconds(1));
  assert.ok(seconds(6) < 1.5 * seconds(1));
});

test('no system is faster than Hetero-tensor where the solver cuts every operator', () => {
  const own = planned('Llama-3-8B', 300, 'hetero-tensor').prediction;
  for (const system of CHIP_SYSTEM_NAMES) {
    const { prefill, decode } = planned('Llama-3-8B', 300, system).prediction;
    assert.ok(prefill.seconds >= own.prefill.seconds, system);
    assert.ok(decode.seconds >= own.decode.seconds, system);
  }
});

test('a processor calculates, waits for the memory, or has no work', () => {
  const gpu = { seconds: 4, bytes: 0, calculating: 3 };
  const npu = { seconds: 2, bytes: 0 };
  assert.equal(activityOfPair(gpu, npu, { first: 5, second: 3 }), {
    seconds: 5,
    gpu: { calculating: 3, waiting: 2 },
    npu: { calculating: 2, waiting: 1 },
  });
  for (const system of CHIP_SYSTEM_NAMES) {
    const { prefill, decode } = planned('Llama-3.2-3B', 135, system).prediction;
    for (const { activity, seconds } of [prefill, decode]) {
      assert.is(activity.seconds, seconds);
      for (const { calculating, waiting } of [activity.gpu, activity.npu]) {
        assert.ok(calculating >= 0 && waiting >= 0 && calculating + waiting <= seconds, system);
      }
    }
  }
});

test('energy is the idle chip’s power, and what each processor adds by what it does', () => {
  const activity = { seconds: 10, gpu: { calculating: 3, waiting: 2 }, npu: { calculating: 2, waiting: 1 } };
  const power = { idle: 1, gpu: { calculating: 10, waiting: 4 }, npu: { calculating: 5, waiting: 2 } };
  assert.is(energyOf(activity, power), 10 + 30 + 8 + 10 + 2);
});

test('a processor calculates in prompts, and mostly waits for weights in decoding', () => {
  const { prefill, decode } = planned('Llama-3-8B', 256, 'gpu-only').prediction;
  const share = ({ calculating, waiting }: Activity): number => calculating / (calculating + waiting);
  assert.ok(share(prefill.activity.gpu) > 0.99);
  assert.ok(share(decode.activity.gpu) < 0.25);
});

test('powers are fitted to the systems that use one processor at a time (HeteroLLM 5.6)', () => {
  const watts = (system: ChipSystemName): number => {
    const { joules, seconds } = planned('Llama-3-8B', 256, system).prediction.prefill;
    return joules / seconds;
  };
  near(watts('hetero-layer'), 2.23, 0.005);
  near(watts('gpu-only'), (2.23 * 1.232) / (1 - 0.367), 0.005);
});

test('the breakdown of a token adds up to its prediction, operator by operator', () => {
  const { plan, model, workload, prediction } = planned('InternLM2-1.8B', 64);
  const breakdown = predict({ plan, truth: PHONE, model, workload });
  near(breakdown.tokenSeconds, prediction.decode.seconds, 1e-12);
  assert.equal(
    breakdown.stages.map(({ name }) => name),
    [
      'attention norm',
      'qkv',
      'RoPE',
      'attention',
      'attention-output',
      'feed-forward norm',
      'gate-up',
      'SwiGLU',
      'down',
      'output norm',
      'output',
    ],
  );
  assert.equal(breakdown.infeasible, []);
});

test('a model that exceeds the memory is infeasible', () => {
  const { plan, model, workload } = planned('Llama-3-8B', 32);
  const [phone] = PHONE.devices;
  const truth: Cluster = { ...PHONE, devices: [{ ...phone!, memory: { ...phone!.memory, available: 4 * 2 ** 30 } }] };
  assert.match(
    predict({ plan, truth, model, workload }).infeasible[0]?.reason ?? '',
    /^phone: weights, KV cache and buffers need/,
  );
});

test('the KV cache takes memory for its reserved context, but only the context is read', () => {
  const { plan, model, workload } = planned('InternLM2-1.8B', 256);
  const [used, reserved] = [workload, { ...workload, reservedContext: 1256 }].map((given) =>
    predict({ plan, truth: PHONE, model, workload: given }),
  );
  // 1000 tokens more: 24 layers of 2 × 8 heads of 128 values in F16
  assert.is(reserved!.devices[0]!.ramBytes - used!.devices[0]!.ramBytes, 1000 * 24 * 2 * 8 * 128 * 2);
  assert.is(reserved!.tokenSeconds, used!.tokenSeconds);
});

test('missing profiles and more than one request are errors of one line', () => {
  const problem = {
    belief: toyCluster([toyDevice('pc'), toyChip()]),
    model: TOY_CHIP_MODEL,
    workload: createWorkload(),
  };
  const none = tensorPartition(problem);
  assert.is(none.plan, undefined);
  assert.is(
    'message' in none ? none.message : '',
    'device "pc": has no "gpu"; tensors are shared by a chip’s GPU and NPU',
  );
  const plan = tensorPartition(problem, { device: 'chip' }).plan as Plan;
  assert.ok(plan);
  assert.throws(
    () => predict({ plan, truth: problem.belief, model: TOY_CHIP_MODEL, workload: createWorkload({ batch: 2 }) }),
    (error: unknown) => error instanceof InputError && error.message.includes('decodes one request'),
  );
  assert.throws(
    () => tensorPartition({ ...problem, workload: createWorkload({ promptTokens: 1_000_001 }) }, { device: 'chip' }),
    (error: unknown) => error instanceof InputError && error.message.includes('1000001 is more than 1000000'),
  );
});

test.run();
