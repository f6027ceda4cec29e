import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue } from '../../../datasets/load.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { createCluster, withoutGpus } from '../../../engine/hardware/cluster.ts';
import type { DiscreteGpu } from '../../../engine/hardware/device.ts';
import { createModel } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import type { Plan, Stage } from '../../../engine/plan/plan.ts';
import { cpuGpuSplit, usesGpu } from '../../../engine/schedule/helm/cpu-gpu-split.ts';
import { oneMachine } from '../../support/one-machine.ts';

const LAYERS = 4;
const found = loadCatalogue().find(({ shape }) => shape.name === 'OLMoE-1B-7B');
if (found === undefined) throw new Error('no OLMoE-1B-7B in datasets/models.csv');
/** A mixture of a few layers, all of the same size. */
const model = createModel({ ...found.shape, layers: LAYERS, kinds: found.shape.kinds.slice(0, LAYERS) }, 'Q8_0');

/** Place of a layer: all on the CPU, all on the GPU, or on the GPU with its experts on the CPU. */
const PLACES = ['cpu', 'gpu', 'crossed'] as const;
type PlaceOfLayer = (typeof PLACES)[number];

/** Every way to place every layer. */
function placements(count: number): PlaceOfLayer[][] {
  if (count === 0) return [[]];
  return placements(count - 1).flatMap((rest) => PLACES.map((place) => [...rest, place]));
}

function plansOf(places: readonly PlaceOfLayer[], kvCache: Plan['kvCache']): Plan[] {
  const stages = places.map((place, from): Stage => {
    const own = { device: 'PC', processor: place === 'cpu' ? 'cpu' : 'gpu', from, to: from + 1 } as const;
    return place === 'crossed' ? { ...own, cpuExperts: 1 } : own;
  });
  const place = (processor: 'cpu' | 'gpu') => ({ device: 'PC', processor });
  // As the thesis has it: the embedding before all blocks, the output behind them.
  const embeddings = places.includes('cpu') ? (['cpu'] as const) : (['cpu', 'gpu'] as const);
  const outputs = places.every((one) => one === 'cpu') ? (['cpu', 'gpu'] as const) : (['gpu'] as const);
  return embeddings.flatMap((embedding) =>
    outputs.map((output) =>
      createPlan({
        ...{ scheduler: 'brute force', rounds: 1, stages, weights: {}, kvCache },
        ...{ embedding: place(embedding), output: place(output) },
      }),
    ),
  );
}

const share = fc.double({ min: 0.05, max: 1.2, noNaN: true });
const cases = fc.record({
  vram: share,
  ram: share,
  cpu: fc.integer({ min: 5, max: 200 }),
  gpu: fc.integer({ min: 20, max: 1000 }),
  link: fc.integer({ min: 1, max: 30 }),
  latency: fc.integer({ min: 0, max: 2000 }),
  batch: fc.constantFrom(1, 4),
  kvCache: fc.constantFrom('host' as const, 'with-layers' as const),
  formulas: fc.constantFrom('roofline' as const, 'sum' as const),
  objective: fc.constantFrom('decode' as const, 'prefill' as const),
});

test('no placement of layers and experts is faster than the search’s, on any of many small machines', () => {
  const everywhere = placements(LAYERS);
  let crossed = 0;
  let fitsNowhere = 0;
  const property = fc.property(cases, ({ vram, ram, cpu, gpu, link, latency, batch, ...asked }) => {
    const bytes = model.bytes + 2 ** 26;
    const [device] = oneMachine({
      ...{ vram: vram * bytes, ram: ram * bytes, cpuBandwidth: cpu * 1e9, gpuBandwidth: gpu * 1e9 },
    }).devices;
    if (device === undefined) throw new Error('no device');
    const hostLink = { latency: latency * 1e-6, bandwidth: link * 1e9 };
    const own = { ...device, gpu: { ...(device.gpu as DiscreteGpu), hostLink } };
    const belief = createCluster({ ...oneMachine(), devices: [own] });
    const runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 2 };
    const workload = createWorkload({ context: 512, promptTokens: 64, batch });
    const secondsOf = (plan: Plan): number => {
      const common = { plan, model, workload, runtime, phase: asked.objective };
      const truth = asked.formulas === 'sum' && !usesGpu(plan) ? withoutGpus(belief) : belief;
      const formulas = asked.formulas === 'sum' ? 'ring' : 'roofline';
      const { infeasible, tokenSeconds } = predict({ ...common, truth, formulas });
      return infeasible.length > 0 ? Number.POSITIVE_INFINITY : tokenSeconds;
    };
    const least = Math.min(...everywhere.flatMap((places) => plansOf(places, asked.kvCache).map(secondsOf)));
    const { plan, best } = cpuGpuSplit({ belief, model, workload, runtime }, asked);
    const seconds = plan === undefined ? Number.POSITIVE_INFINITY : secondsOf(plan);
    assert.ok(
      seconds === least || Math.abs(seconds / least - 1) < 1e-12,
      `${seconds} s; by brute force ${least} s, ${JSON.stringify(plan?.stages)}`,
    );
    if (best?.cpuExperts !== undefined) crossed += 1;
    if (plan === undefined) fitsNowhere += 1;
  });
  fc.assert(property, { seed: 11, numRuns: 60 });
  assert.ok(crossed > 10 && fitsNowhere < 40, `${crossed} with experts on the CPU, ${fitsNowhere} that fit nowhere`);
});

test('whole layers only, as in the thesis, are never faster', () => {
  const belief = oneMachine({ ram: 64e9, vram: 0.6 * model.bytes });
  const workload = createWorkload({ context: 512, promptTokens: 64 });
  const [searched, whole] = (['searched', 'with-layers'] as const).map((experts) =>
    cpuGpuSplit({ belief, model, workload }, { experts, formulas: 'sum', kvCache: 'with-layers' }),
  );
  assert.is(whole?.best?.cpuExperts, undefined);
  assert.ok((searched?.best?.cpuExperts ?? 0) > 0);
  assert.ok((searched?.best?.tokenSeconds ?? 1) < (whole?.best?.tokenSeconds ?? 0));
  // The curve has one candidate for every k, with the experts that are best for it.
  assert.is(searched?.curve.length, LAYERS + 3);
});

test.run();
