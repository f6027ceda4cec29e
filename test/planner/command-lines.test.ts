import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../datasets/load.ts';
import { USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { commandLines } from '../../planner/command-lines.ts';

const cluster = loadCluster('prima-home');
const settings = { cluster, clusterFile: 'home.json', file: 'm.gguf', context: 512 };
const cpu = { device: 'D3', processor: 'cpu' } as const;
const gpu = { device: 'D3', processor: 'gpu' } as const;
const alone: PlanParts = {
  scheduler: 'hand',
  rounds: 1,
  stages: [
    { ...cpu, from: 0, to: 12 },
    { ...gpu, from: 12, to: 32 },
  ],
  embedding: cpu,
  output: gpu,
  weights: {},
  kvCache: 'with-layers',
};

test('llama.cpp counts the output layer as a layer of the GPU', () => {
  const lines = commandLines({ ...settings, plan: createPlan(alone) });
  assert.equal(lines, [
    {
      program: 'hearth',
      device: 'D3',
      line: 'hearth generate --model m.gguf --context 512 --gpu-layers 20 --prompt TEXT',
    },
    { program: 'llama.cpp', device: 'D3', line: 'llama-server -m m.gguf -c 512 -ngl 21' },
  ]);
});

test('experts on the CPU are counted from the model’s first layer, by both programs', () => {
  const linesOf = (...stages: PlanParts['stages']) =>
    commandLines({ ...settings, plan: createPlan({ ...alone, stages }) }).map(({ line }) => line);
  assert.equal(linesOf({ ...cpu, from: 0, to: 12 }, { ...gpu, from: 12, to: 32, cpuExperts: 8 }), [
    'hearth generate --model m.gguf --context 512 --gpu-layers 20 --n-cpu-moe 20 --prompt TEXT',
    'llama-server -m m.gguf -c 512 -ngl 21 --n-cpu-moe 20',
  ]);
  assert.equal(linesOf({ ...gpu, from: 0, to: 32, cpuExperts: 32 }), [
    'hearth generate --model m.gguf --context 512 --gpu-layers 32 --cpu-moe --prompt TEXT',
    'llama-server -m m.gguf -c 512 -ngl 33 --cpu-moe',
  ]);
  // Experts of layers in the middle have no option.
  assert.equal(linesOf({ ...gpu, from: 0, to: 12 }, { ...gpu, from: 12, to: 32, cpuExperts: 8 }), []);
});

test('hearth generate has the output and the KV cache of its GPU layers on the GPU, so that others have no line of it', () => {
  for (const other of [{ output: cpu }, { kvCache: 'host' as const }, { embedding: gpu }])
    assert.equal(
      commandLines({ ...settings, plan: createPlan({ ...alone, ...other }) }).map(({ program }) => program),
      ['llama.cpp'],
    );
});

test('a quantized KV cache is named, on a CPU and on a GPU', () => {
  const plan = createPlan({ ...alone, stages: [{ ...cpu, from: 0, to: 32 }], output: cpu });
  assert.equal(
    commandLines({ ...settings, plan, kvFormat: 'Q8_0' }).map(({ line }) => line),
    [
      'hearth generate --model m.gguf --context 512 --kv Q8_0 --prompt TEXT',
      'llama-server -m m.gguf -c 512 -ngl 0 --flash-attn on -ctk q8_0 -ctv q8_0',
    ],
  );
  assert.equal(
    commandLines({ ...settings, plan: createPlan(alone), kvFormat: 'Q8_0' }).map(({ line }) => line),
    [
      'hearth generate --model m.gguf --context 512 --kv Q8_0 --gpu-layers 20 --prompt TEXT',
      'llama-server -m m.gguf -c 512 -ngl 21 --flash-attn on -ctk q8_0 -ctv q8_0',
    ],
  );
});

test('llama.cpp has its GPU layers last, so that others have no command line', () => {
  const stages = [
    { ...gpu, from: 0, to: 12 },
    { ...cpu, from: 12, to: 32 },
  ];
  assert.equal(commandLines({ ...settings, plan: createPlan({ ...alone, stages }) }), []);
});

test('a plan for one CPU also has a command line of hearth generate', () => {
  const plan = createPlan({ ...alone, stages: [{ ...cpu, from: 0, to: 32 }], output: cpu });
  assert.equal(
    commandLines({ ...settings, plan }).map(({ program }) => program),
    ['hearth', 'llama.cpp'],
  );
});

test('prima.cpp has a line for each rank, with the windows of a round on the first', () => {
  const windows = [
    { device: 'D3', layers: 8, gpuLayers: 4 },
    { device: 'D1', layers: 2, gpuLayers: 0 },
    { device: 'D2', layers: 6, gpuLayers: 6 },
  ];
  const plan = ringPlan({ scheduler: 'hand', head: 'D3', rounds: 2, windows, outputProcessor: 'cpu' });
  const lines = commandLines({ ...settings, plan });
  assert.equal(
    lines.map(({ device, line }) => [device, line]),
    [
      [
        'D3',
        'llama-cli -m m.gguf -c 512 --world 3 --rank 0 --master ADDRESS-OF-D3 --next ADDRESS-OF-D1 -lw "8,2,6" -ngl 4 --prefetch',
      ],
      ['D1', 'llama-cli -m m.gguf -c 512 --world 3 --rank 1 --master ADDRESS-OF-D3 --next ADDRESS-OF-D2 --prefetch'],
      [
        'D2',
        'llama-cli -m m.gguf -c 512 --world 3 --rank 2 --master ADDRESS-OF-D3 --next ADDRESS-OF-D3 -ngl 6 --prefetch',
      ],
    ],
  );
});

test('a ring whose windows differ from round to round has no command line of prima.cpp', () => {
  const stages = [
    { ...cpu, from: 0, to: 10 },
    { device: 'D2', processor: 'cpu' as const, from: 10, to: 20 },
    { ...cpu, from: 20, to: 24 },
    { device: 'D2', processor: 'cpu' as const, from: 24, to: 32 },
  ];
  const plan = createPlan({ ...alone, rounds: 2, stages, output: cpu });
  assert.equal(
    commandLines({ ...settings, plan }).map(({ program }) => program),
    ['hearth'],
  );
});

test('a ring whose devices cache experts is carried out by hearth run alone, and by no program with layers on a GPU', () => {
  const experts = { prefetch: 'none', release: 'none', experts: USUAL_EXPERTS } as const;
  const linesOf = (processor: 'cpu' | 'gpu'): string[] => {
    const stages = ['D1', 'D2'].map((device, at) => ({ device, processor, from: 16 * at, to: 16 * at + 16 }));
    const head = { device: 'D1', processor: 'cpu' } as const;
    const ring = { ...alone, stages, embedding: head, output: head, weights: { D2: experts } };
    const plan = createPlan(ring);
    assert.is(plan.kind, 'ring');
    return commandLines({ ...settings, plan }).map(({ line }) => line);
  };
  assert.equal(linesOf('cpu'), [
    'hearth run --model m.gguf --cluster home.json --plan plan.json --context 512 --prompt TEXT',
  ]);
  assert.equal(linesOf('gpu'), []);
});

test('distributed-llama has a line for each worker and for the root, in the order in which they start', () => {
  const root = { device: 'D1', processor: 'cpu' } as const;
  const cut = (shares: readonly number[]) => {
    const parts = ['D1', 'D3'].map((device, at) => ({ device, share: shares[at] as number }));
    const stages = [{ ...root, from: 0, to: 32, cut: parts }];
    const plan = createPlan({ ...alone, stages, embedding: root, output: root, allReduce: 'exchange' });
    return commandLines({ ...settings, plan });
  };
  assert.equal(
    cut([0.5, 0.5]).map(({ program, device, line }) => [program, device, line]),
    [
      ['distributed-llama', 'D3', 'dllama worker --port 9999 --nthreads 16'],
      [
        'distributed-llama',
        'D1',
        'dllama inference --model MODEL.m --tokenizer TOKENIZER.t --buffer-float-type q80 --max-seq-len 512 --nthreads 8 --workers ADDRESS-OF-D3:9999 --prompt TEXT --steps 512',
      ],
    ],
  );
  assert.equal(cut([0.75, 0.25]), []);
});

test.run();
