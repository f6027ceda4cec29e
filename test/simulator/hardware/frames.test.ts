import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue, loadCluster, namedW4a16Model } from '../../../datasets/load.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import type { ChipSystemName } from '../../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../../engine/schedule/tensor-partition/tensor-partition.ts';
import { createRecorder } from '../../../engine/trace/recorder.ts';
import { hold } from '../../../simulator/event-loop/effect.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createGpuQueue, createSharedMemory } from '../../../simulator/hardware/chip.ts';
import { type FrameSource, frameRate, submitFrames } from '../../../simulator/hardware/frames.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { near } from '../../support/near.ts';
import { TOY_MODEL, TOY_RUNTIME, TOY_WORKLOAD, toyCluster, toyDevice } from '../../support/toy-cluster.ts';

/** A GPU in a simulation, and the spans of what it runs. */
function gpuAlone() {
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: true });
  const memory = createSharedMemory(simulation, 1e9);
  const gpu = createGpuQueue({ simulation, recorder, memory, noise: () => 1, deviceName: 'phone' });
  const log = () => recorder.spans.map(({ name, start, end }) => `${name} ${start}–${end}`);
  return { simulation, gpu, log, recorder };
}

const FRAMES: FrameSource = { first: 1, interval: 4, seconds: 1, bytes: 0, inFlight: 1 };

test('a frame runs behind what was submitted before it, and a kernel behind the frame', () => {
  const { simulation, gpu, log } = gpuAlone();
  simulation.spawn('frames', submitFrames({ simulation, gpu }, FRAMES));
  function* model() {
    gpu.submit('a', { seconds: 3, bytes: 0 });
    yield hold(2);
    gpu.submit('b', { seconds: 1, bytes: 0 });
    yield* gpu.drain();
    assert.is(simulation.now, 5);
  }
  simulation.run(simulation.spawn('model', model()));
  assert.equal(log(), ['a 0–3', 'frame 0 3–4', 'b 4–5']);
});

test('the model doesn’t wait for a frame behind its last kernel', () => {
  const { simulation, gpu } = gpuAlone();
  simulation.spawn('frames', submitFrames({ simulation, gpu }, FRAMES));
  function* model() {
    gpu.submit('a', { seconds: 2, bytes: 0 });
    yield* gpu.drain();
    assert.is(simulation.now, 2);
    assert.ok(gpu.isEmpty);
  }
  simulation.run(simulation.spawn('model', model()));
});

test('frames for which no buffer is free are skipped', () => {
  const { simulation, gpu, recorder } = gpuAlone();
  simulation.spawn('frames', submitFrames({ simulation, gpu }, { ...FRAMES, interval: 1, seconds: 2.5, inFlight: 2 }));
  simulation.run(11);
  // Begun at 1, 3.5, 6 and 8.5: those submitted at 1, 2, 4 and 7.
  assert.equal(
    recorder.spans.map(({ name }) => name),
    ['frame 0', 'frame 1', 'frame 3', 'frame 6'],
  );
  near(frameRate(recorder.spans, { start: 1, end: 11 }), 0.4, 1e-12);
});

const cluster = loadCluster('hetero-8gen3');
const model = namedW4a16Model(loadCatalogue(), 'InternLM2-1.8B');
const workload = createWorkload({ promptTokens: 256, outputTokens: 1, context: 256 });

/** Seconds of a prompt and frames per second meanwhile. */
function beside(system: ChipSystemName, frames?: FrameSource) {
  const { plan } = tensorPartition({ belief: cluster, model, workload }, { system });
  if (plan === undefined) throw new Error(system);
  const { trace } = simulate({ cluster, model, plan, workload, ...(frames && { frames }) });
  const [prompt] = trace.tokens;
  if (prompt === undefined) throw new Error('no prompt');
  return { seconds: prompt.end - prompt.start, rate: frameRate(trace.spans, prompt) };
}

const GAME: FrameSource = { first: 0.01, interval: 1 / 60, seconds: 2e-3, bytes: 0, inFlight: 2 };

test('GPU-only leaves a game no frame; NPU and GPU together leave it nearly all (HeteroLLM Fig. 18)', () => {
  assert.is(beside('gpu-only', GAME).rate, 0);
  for (const system of ['hetero-layer', 'hetero-tensor'] as const) assert.ok(beside(system, GAME).rate > 54, system);
});

test('frames without work cost nothing, and longer ones cost more', () => {
  const alone = beside('hetero-tensor').seconds;
  near(beside('hetero-tensor', { ...GAME, seconds: 0 }).seconds, alone, 1e-9);
  const seconds = [1e-3, 3e-3, 6e-3].map((frame) => beside('hetero-tensor', { ...GAME, seconds: frame }).seconds);
  assert.ok(alone < seconds[0]! && seconds[0]! < seconds[1]! && seconds[1]! < seconds[2]!);
});

test('layers on a CPU have no queue for frames', () => {
  const plan = createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages: [{ device: 'a', processor: 'cpu', from: 0, to: TOY_MODEL.layers }],
    embedding: { device: 'a', processor: 'cpu' },
    output: { device: 'a', processor: 'cpu' },
    weights: {},
    kvCache: 'with-layers',
  });
  const parts = { cluster: toyCluster([toyDevice('a')]), model: TOY_MODEL, plan, workload: TOY_WORKLOAD };
  assert.throws(
    () => simulate({ ...parts, runtime: TOY_RUNTIME, frames: GAME }),
    /frames.*has no effect on a plan of kind "split"/,
  );
});

test.run();
