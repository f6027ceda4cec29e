import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHelmModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device, FlopRates } from '../../../engine/hardware/device.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { createModel } from '../../../engine/model/model.ts';
import { QUANTIZATION_NAMES } from '../../../engine/model/quantization.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { parsePlan } from '../../../engine/plan/parse-plan.ts';
import { type CpuGpuSplitOptions, cpuGpuSplit, splitPlan } from '../../../engine/schedule/helm/cpu-gpu-split.ts';
import { relativelyNear as near } from '../../support/near.ts';
import { type Machine, oneMachine, QWEN3_8B } from '../../support/one-machine.ts';

const catalogue = loadCatalogue();
const workload = createWorkload({ context: 192 });

/** `cpu→gpu` in partition units, as the thesis prints plans, or why there is none. */
function splitOf(cluster: string, model: string, options?: CpuGpuSplitOptions): string {
  const problem = { belief: loadCluster(cluster), model: createHelmModel(catalogue, model), workload };
  const found = cpuGpuSplit(problem, options);
  return found.plan === undefined ? found.reason : `${found.best?.cpuUnits}→${found.best?.gpuUnits}`;
}

function split(machine: Machine, options: CpuGpuSplitOptions = {}, context = 0) {
  const model = createModel(QWEN3_8B, 'BF16');
  return cpuGpuSplit({ belief: oneMachine(machine), model, workload: createWorkload({ context }) }, options);
}

const quantizations = (rate: number) => Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as FlopRates;

/** CPU layers, and the places of embedding and output. */
function shape(found: ReturnType<typeof split>): string {
  if (found.plan === undefined) return found.reason;
  const { stages, embedding, output } = found.plan;
  const layers = stages.map(({ processor, from, to }) => `${processor} ${to - from}`).join(', ');
  return `${embedding.processor} | ${layers} | ${output.processor}`;
}

test('the five splits that HELM publishes (Tables 6.3 and 6.5)', () => {
  assert.is(splitOf('helm-4060', 'Qwen3-4B'), '4→34');
  assert.is(splitOf('helm-4060', 'Qwen3-8B'), '21→17');
  assert.is(splitOf('helm-3090', 'Qwen3-14B'), '8→34');
  assert.is(splitOf('helm-3090', 'Qwen3-32B'), '43→23');
  assert.is(splitOf('helm-l40s', 'Qwen3-32B'), '18→48');
});

test('models that fit in VRAM run on the GPU only, as published', () => {
  assert.is(splitOf('helm-3090', 'Qwen3-4B'), '0→38');
  assert.is(splitOf('helm-3090', 'Qwen3-8B'), '0→38');
  assert.is(splitOf('helm-l40s', 'Qwen3-4B'), '0→38');
  assert.is(splitOf('helm-l40s', 'Qwen3-8B'), '0→38');
  assert.is(splitOf('helm-l40s', 'Qwen3-14B'), '0→42');
});

test('14B and 32B exceed the laptop’s RAM (Table 6.1), which Algorithm 1 does not check', () => {
  assert.is(splitOf('helm-4060', 'Qwen3-14B'), 'fits-nowhere');
  assert.is(splitOf('helm-4060', 'Qwen3-32B'), 'fits-nowhere');
  assert.is(splitOf('helm-4060', 'Qwen3-14B', { ram: 'ignored' }), '33→9');
  assert.is(splitOf('helm-4060', 'Qwen3-32B', { ram: 'ignored' }), '59→7');
});

test('the split of the running example changes at the byte at which another block fits', () => {
  const needed = 16 * 385_892_864 + 1_244_667_904;
  assert.is(shape(split({ vram: needed })), 'cpu | cpu 20, gpu 16 | gpu');
  assert.is(shape(split({ vram: needed - 1 })), 'cpu | cpu 21, gpu 15 | gpu');
  assert.is(shape(split({ vram: needed + 385_892_864 - 1 })), 'cpu | cpu 20, gpu 16 | gpu');
  assert.is(shape(split({ vram: needed + 385_892_864 })), 'cpu | cpu 19, gpu 17 | gpu');
});

test('embedding is with the first unit, and output the last to leave the GPU', () => {
  const gpuOnly = 36 * 385_892_864 + 1_244_667_904;
  const roomy = 30e9;
  assert.is(shape(split({ vram: gpuOnly + 1_244_659_712 })), 'gpu | gpu 36 | gpu');
  assert.is(shape(split({ vram: gpuOnly })), 'cpu | gpu 36 | gpu');
  assert.is(shape(split({ vram: 1_244_667_904, ram: roomy })), 'cpu | cpu 36 | gpu');
  assert.is(shape(split({ vram: 1_244_667_903, ram: roomy })), 'cpu | cpu 36 | cpu');
});

test('a GPU that is slower than the CPU gets nothing', () => {
  assert.is(shape(split({ gpuBandwidth: 10e9, ram: 30e9 })), 'cpu | cpu 36 | cpu');
});

test('equal splits go to the smaller k', () => {
  const even = { gpu: 'unified', gpuBandwidth: 45e9, vram: 30e9, ram: 30e9 } as const;
  assert.is(shape(split(even)), 'gpu | gpu 36 | gpu');
});

test('without KV offload a long context moves blocks to the CPU', () => {
  // 16 blocks leave 7.5 − 7.419 = 0.081 GB; 16 × 4096 × 4096 B = 0.268 GB of cache are too much, 15 blocks' 0.252 fit.
  assert.is(shape(split({}, { kvCache: 'with-layers' }, 4096)), 'cpu | cpu 21, gpu 15 | gpu');
  const offloaded = split({}, {}, 4096);
  assert.is(shape(offloaded), 'cpu | cpu 20, gpu 16 | gpu');
  assert.is(offloaded.plan?.kvCache, 'host');
});

test('with the objective prefill the compute ceiling binds, which moves blocks to the processor that calculates faster', () => {
  // The CPU reads faster than the GPU, and both calculate alike: a token is best on the CPU alone.
  const machine = { cpuBandwidth: 300e9, vram: 40e9, ram: 64 * 2 ** 30 };
  assert.is(split(machine).best?.gpuUnits, 0);
  const belief = oneMachine(machine);
  const [device] = belief.devices;
  const gpu = device?.gpu && { ...device.gpu, promptFlops: quantizations(1e14) };
  const faster = createCluster({ ...belief, devices: [{ ...(device as Device), gpu }] });
  const model = createModel(QWEN3_8B, 'BF16');
  const given = { belief: faster, model, workload: createWorkload({ promptTokens: 512, context: 512 }) };
  assert.is(cpuGpuSplit(given, { objective: 'prefill' }).best?.cpuUnits, 0);
  assert.is(cpuGpuSplit(given).best?.gpuUnits, 0);
});

test('a prompt on the GPU takes max(F/P_pre, W/M) for every block, and the output layer once', () => {
  const model = createModel(QWEN3_8B, 'BF16');
  const workload = createWorkload({ promptTokens: 128 });
  const given = { belief: oneMachine({ vram: 40e9, flops: 1e12 }), model, workload };
  const whole = cpuGpuSplit(given, { objective: 'prefill', kvCache: 'with-layers' }).curve[0];
  // 2·H·(2·h d + 2·h_kv d + 3·F) FLOPs a token and block; 4·h·d·64 for attending to half the prompt.
  const projections = 2 * 4096 * (2 * 32 * 128 + 2 * 8 * 128 + 3 * 12288) * 128;
  const attention = 4 * 32 * 128 * 64 * 128;
  const output = ((151936 * 4096 + 4096) * 2) / 218e9; // with its norm
  near(whole?.gpuSeconds ?? 0, (36 * (projections + attention)) / 1e12 + output);
});

test('by sums, the time of the chosen split is that of prima.cpp’s formulas', () => {
  const model = createModel(QWEN3_8B, 'BF16');
  const given = { belief: oneMachine(), model, workload: createWorkload({ context: 192, promptTokens: 64 }) };
  for (const phase of ['decode', 'prefill'] as const) {
    const { plan, best } = cpuGpuSplit(given, { objective: phase, formulas: 'sum' });
    if (plan === undefined) return assert.unreachable();
    near(best?.tokenSeconds ?? 0, predict({ plan, truth: given.belief, ...given, phase }).tokenSeconds);
  }
});

test('the curve has every k, with the parts of T_plan and no copy at both ends', () => {
  const { curve, best } = split({});
  assert.equal(
    curve.map((candidate) => candidate.cpuUnits),
    Array.from({ length: 39 }, (_, k) => k),
  );
  const milliseconds = (seconds = 0): string => (1000 * seconds).toFixed(1);
  assert.is(best, curve[21]);
  assert.is(best?.gpuUnits, 17);
  assert.is(milliseconds(best?.cpuSeconds), '171.5');
  assert.is(milliseconds(best?.gpuSeconds), '34.0');
  assert.is(milliseconds(best?.tokenSeconds), '205.5');
  assert.is(best?.feasible, true);
  assert.is(curve[20]?.feasible, false);
  assert.is(curve[0]?.copySeconds, 0);
  assert.is(curve[38]?.copySeconds, 0);
  assert.ok(curve.slice(1, 38).every((candidate) => Math.abs(candidate.copySeconds - 5.512e-6) < 1e-12));
});

test('Fig. 4.4 needs 8.19 GB on the GPU with 18 blocks and 8.58 GB with 18 units, both too much for 8 GB', () => {
  const { curve } = split({});
  const gigabytes = (k: number): string => ((curve[k]?.gpuBytes ?? 0) / 1e9).toFixed(2);
  assert.is(gigabytes(19), '8.19');
  assert.is(gigabytes(18), '8.58');
  assert.is(curve[19]?.feasible, false);
});

test("the problem's runtime takes its buffers from the VRAM", () => {
  // 7.5 − 0.4 GB leave room for the head and 15 blocks: 7.033 GB.
  const runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0.4e9, activationBytes: 2 };
  const model = createModel(QWEN3_8B, 'BF16');
  const found = cpuGpuSplit({ belief: oneMachine(), model, workload, runtime });
  assert.is(shape(found), 'cpu | cpu 21, gpu 15 | gpu');
});

test('a machine without a GPU and one with too little memory are typed reasons', () => {
  const without = split({ gpu: 'none' });
  assert.is(shape(without), 'needs-gpu');
  assert.equal(without.curve, []);
  const small = split({ vram: 1e9, ram: 2e9 });
  assert.is(shape(small), 'fits-nowhere');
  assert.is(small.curve.length, 39);
  assert.match(small.plan === undefined ? small.message : '', /no split of Qwen3-8B fits PC’s VRAM and RAM/);
});

test('a device other than the head can be split, and an unknown one is refused', () => {
  const cluster = oneMachine();
  const [pc] = cluster.devices;
  assert.ok(pc);
  const two = { ...cluster, devices: [{ ...pc, name: 'head', gpu: undefined }, pc] };
  const problem = { belief: two, model: createModel(QWEN3_8B, 'BF16'), workload };
  assert.is(shape(cpuGpuSplit(problem)), 'needs-gpu');
  const found = cpuGpuSplit(problem, { device: 'PC' });
  assert.is(shape(found), 'cpu | cpu 20, gpu 16 | gpu');
  assert.is(found.plan?.output.device, 'PC');
  assert.throws(
    () => cpuGpuSplit(problem, { device: 'Pc' }),
    (error: unknown) => error instanceof InputError && /did you mean "PC"/.test(error.message),
  );
});

test('a plan survives writing and reading', () => {
  const plan = splitPlan('PC', QWEN3_8B, 21);
  assert.equal(parsePlan(JSON.stringify(plan), 'plan.json'), plan);
});

test('no feasible split of any machine is faster than the chosen one', () => {
  const machines = fc.record({
    vram: fc.integer({ min: 1, max: 20 }).map((gigabytes) => gigabytes * 1e9),
    ram: fc.integer({ min: 1, max: 20 }).map((gigabytes) => gigabytes * 1e9),
    cpuBandwidth: fc.integer({ min: 10, max: 200 }).map((rate) => rate * 1e9),
    gpuBandwidth: fc.integer({ min: 10, max: 400 }).map((rate) => rate * 1e9),
  });
  const model = createModel(QWEN3_8B, 'BF16');
  fc.assert(
    fc.property(machines, fc.integer({ min: 0, max: 32768 }), fc.boolean(), (machine, context, offload) => {
      const task = { model, workload: createWorkload({ context }) };
      const kvCache = offload ? 'host' : 'with-layers';
      const secondsOf = (plan: ReturnType<typeof splitPlan>): number => {
        const found = predict({ plan, truth: oneMachine(machine), ...task, formulas: 'roofline' });
        return found.infeasible.length > 0 ? Number.POSITIVE_INFINITY : found.tokenSeconds;
      };
      const all = Array.from({ length: 39 }, (_, k) => secondsOf(splitPlan('PC', QWEN3_8B, k, kvCache)));
      const { plan } = cpuGpuSplit({ belief: oneMachine(machine), ...task }, { kvCache });
      assert.is(plan === undefined ? Number.POSITIVE_INFINITY : secondsOf(plan), Math.min(...all));
    }),
    { seed: 3, numRuns: 100 },
  );
});

test.run();
