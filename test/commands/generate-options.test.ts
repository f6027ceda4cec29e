import { tmpdir } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createGenerateCommand, type GenerateRequest } from '../../commands/generate-options.ts';

/** The request that the command parses from these options, or the message of its error. */
async function requested(...options: readonly string[]): Promise<GenerateRequest | string> {
  let request: GenerateRequest | undefined;
  const command = createGenerateCommand('generate', async (given) => {
    request = given;
  });
  try {
    await command.parseAsync(['--model', 'm.gguf', '--prompt', 'Hi', ...options], { from: 'user' });
  } catch (error) {
    return (error as Error).message;
  }
  return request ?? 'no request';
}

const DEFAULTS: GenerateRequest = {
  model: 'm.gguf',
  prompts: ['Hi'],
  chat: false,
  system: undefined,
  json: false,
  stops: [],
  tokens: undefined,
  sampling: { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, repeatPenalty: 1 },
  seed: 1,
  kernels: { implementation: 'auto' },
  place: { gpu: undefined, ring: undefined },
  gpuPaging: undefined,
  context: undefined,
  kvCache: 'F16',
  memory: undefined,
  paging: undefined,
  drafts: { draft: undefined, own: false, lookup: undefined, tokens: undefined },
  experts: undefined,
  packedExperts: undefined,
  routing: undefined,
  saveCluster: undefined,
  savePlan: undefined,
  trace: undefined,
};

test('defaults are those of llama.cpp, with a fixed seed', async () => {
  assert.equal(await requested(), DEFAULTS);
});

test('every option reaches the request', async () => {
  const options = [
    ...['--chat', '--system', 'Be brief.', '--tokens', '9', '--seed', '3', '--stop', 'a', '--stop', 'b c', '--json'],
    ...['--temperature', '0', '--top-k', '0', '--top-p', '1', '--min-p', '.1', '--repeat-penalty', '1.1'],
    ...['--kernels', 'native', '--threads', '4', '--context', '64', '--kv', 'F32'],
    ...['--memory', '600MiB', '--trace', 'run.json', '--force'],
    ...['--expert-slots', '12', '--expert-eviction', 'slru', '--expert-lookahead', 'next-router:3'],
    ...['--expert-pool', 'all', '--expert-reads', 'pread', '--expert-depth', '2', '--routing', 'r.json'],
    ...['--packed-experts', 'experts.packed'],
    ...['--kv-memory', '200MiB', '--kv-pages', '256', '--kv-folder', '/data'],
  ];
  assert.equal(await requested(...options), {
    ...{
      model: 'm.gguf',
      prompts: ['Hi'],
      chat: true,
      system: 'Be brief.',
      json: true,
      stops: ['a', 'b c'],
      tokens: 9,
    },
    sampling: { temperature: 0, topK: 0, topP: 1, minP: 0.1, repeatPenalty: 1.1 },
    ...{
      seed: 3,
      kernels: { implementation: 'native', threads: 4 },
      place: DEFAULTS.place,
      gpuPaging: undefined,
      ...{ saveCluster: undefined, savePlan: undefined },
      context: 64,
      kvCache: 'F32',
    },
    ...{
      memory: 600 * 2 ** 20,
      experts: {
        ...{ slots: 12, pool: 'all', eviction: 'slru', method: 'pread', depth: 2 },
        lookahead: { kind: 'next-router', ranks: 3 },
      },
      packedExperts: 'experts.packed',
      routing: 'r.json',
      trace: {
        ...{ flag: '--trace', path: 'run.json', kind: 'a trace', force: true },
        inputs: ['m.gguf', undefined, undefined, undefined, undefined],
      },
    },
    paging: { memory: 200 * 2 ** 20, pageTokens: 256, folder: '/data' },
    drafts: DEFAULTS.drafts,
  });
});

test('pages have 512 tokens by default, as in HELM, and their file is in the temporary folder', async () => {
  const request = await requested('--kv-memory', '1GiB');
  assert.equal(typeof request === 'string' ? request : request.paging, {
    ...{ memory: 2 ** 30, pageTokens: 512, folder: tmpdir() },
  });
});

test('pages leave a GPU beyond its memory, or all but one', async () => {
  const paging = async (...options: readonly string[]) => {
    const request = await requested('--gpu-layers', '2', ...options);
    return typeof request === 'string' ? request : request.gpuPaging;
  };
  const place = { folder: tmpdir(), ram: Number.POSITIVE_INFINITY };
  assert.equal(await paging(), undefined);
  assert.equal(await paging('--gpu-memory', '200MiB'), { gpuMemory: 200 * 2 ** 20, pageTokens: 512, place });
  assert.equal(await paging('--kv-host', '--kv-pages', '64', '--kv-memory', '1MiB', '--kv-folder', '/data'), {
    ...{ gpuMemory: undefined, pageTokens: 64, place: { folder: '/data', ram: 2 ** 20 } },
  });
});

test('drafts come from a model, from the text, or both', async () => {
  const drafts = async (...options: readonly string[]) => {
    const request = await requested(...options);
    return typeof request === 'string' ? request : request.drafts;
  };
  assert.equal(await drafts('--draft', 'd.gguf'), {
    draft: 'd.gguf',
    own: false,
    lookup: undefined,
    tokens: undefined,
  });
  assert.equal(await drafts('--lookup'), { draft: undefined, own: false, lookup: 4, tokens: undefined });
  assert.equal(await drafts('--draft', 'd.gguf', '--lookup', '3', '--draft-tokens', '5'), {
    ...{ draft: 'd.gguf', own: false, lookup: 3, tokens: 5 },
  });
});

test('experts of all layers, or of the first ones, stay on the CPU', async () => {
  const cpuExperts = async (...options: readonly string[]) => {
    const request = await requested('--gpu-layers', 'all', ...options);
    return typeof request === 'string' ? request : request.place.gpu?.cpuExperts;
  };
  assert.is(await cpuExperts(), undefined);
  assert.is(await cpuExperts('--cpu-moe'), 'all');
  assert.is(await cpuExperts('--n-cpu-moe', '3'), 3);
});

const MISTAKES: readonly [string, readonly string[], string][] = [
  ['experts on the CPU without a GPU', ['--cpu-moe'], '--cpu-moe: is used only with --gpu-layers; add it'],
  [
    'experts on the CPU, where all layers are',
    ['--gpu-layers', '0', '--n-cpu-moe', '2'],
    '--n-cpu-moe: the CPU has all layers with --gpu-layers 0; leave it out',
  ],
  [
    'experts on the CPU under a plan of whole layers',
    ['--gpu-layers', 'auto', '--cpu-moe'],
    '--cpu-moe: is for --gpu-layers with a number or all; auto decides that itself',
  ],
  [
    'experts of all layers and of some',
    ['--gpu-layers', 'all', '--cpu-moe', '--n-cpu-moe', '2'],
    '--cpu-moe: is for all layers, --n-cpu-moe for the first ones; give one of them',
  ],
  [
    'experts of no layer',
    ['--gpu-layers', 'all', '--n-cpu-moe', '0'],
    '--n-cpu-moe: "0" is not a whole number between 1 and 10000000',
  ],
  ['pages without a limit', ['--kv-pages', '64'], '--kv-pages: is used only with --kv-memory; add it'],
  ['a misspelt choice', ['--kernels', 'referenc'], '--kernels: unknown "referenc"; did you mean "reference"?'],
  ['an empty stop string', ['--stop', ''], '--stop: is empty; give the text at which to stop'],
  ['a system message without --chat', ['--system', 'x'], '--system: is used only with --chat; add it'],
  [
    'a temperature that is not a number',
    ['--temperature', 'warm'],
    '--temperature: "warm" is not a number between 0 and 100',
  ],
  ['a share above 1', ['--top-p', '1.5'], '--top-p: "1.5" is not a number between 0 and 1'],
  [
    'a memory without unit',
    ['--memory', '600'],
    '--memory: "600" has no unit; a size with its unit is needed, such as "4.1 GiB" or "512 MB"',
  ],
  ['a GPU’s memory without layers', ['--gpu-memory', '1GiB'], '--gpu-memory: is used only with --gpu-layers; add it'],
  ['a cache in RAM without layers', ['--kv-host'], '--kv-host: is used only with --gpu-layers; add it'],
  [
    'two sizes of the GPU’s cache',
    ['--gpu-layers', '2', '--kv-host', '--gpu-memory', '1GiB'],
    '--kv-host: keeps one page on the GPU, --gpu-memory as many as it has room for; give one',
  ],
  [
    'RAM for a cache that is on the GPU',
    ['--gpu-layers', '2', '--kv-memory', '1GiB'],
    '--kv-memory: works on the CPU alone; leave --gpu-layers out, or add --gpu-memory or --kv-host',
  ],
  [
    'a GPU without layers',
    ['--device', 'x'],
    '--device: is about a ring or a GPU; give --worker or --cluster, or --gpu-layers, or leave it out',
  ],
  [
    'a profile for given layers',
    ['--gpu-layers', '3', '--profile', 'p.json'],
    '--profile: is about a ring or a GPU; give --worker or --cluster, or --gpu-layers auto, or leave it out',
  ],
  [
    'drafted tokens of nothing',
    ['--draft-tokens', '4'],
    '--draft-tokens: is used only with --draft or --lookup; add one',
  ],
  [
    'two models that draft',
    ['--draft', 'small.gguf', '--own-draft'],
    '--own-draft: excludes --draft: one model drafts; leave one of them out',
  ],
  [
    'a block of a model that is read as memory allows',
    ['--own-draft', '--memory', '1GiB'],
    '--own-draft: drafts with weights that are mapped; leave --memory out',
  ],
  ['a run of one token', ['--lookup', '1'], '--lookup: "1" is not a whole number between 2 and 16'],
  [
    'a trace of passes with several tokens',
    ['--lookup', '--trace', 'run.json'],
    '--trace: records a token for each pass; leave --draft and --lookup out',
  ],
  [
    'drafts for a GPU',
    ['--gpu-layers', '2', '--draft', 'd.gguf'],
    '--draft: works on the CPU alone; leave --gpu-layers out',
  ],
  [
    'two prompts on one machine',
    ['--prompt', 'Ho'],
    '--prompt: is given 2 times; give one, or --worker or --cluster: a ring generates several together',
  ],
  [
    'a plan of no ring',
    ['--save-plan', 'p.json'],
    '--save-plan: is about a ring; give its devices by --worker or --cluster, or leave it out',
  ],
  [
    'a ring and layers of this machine',
    ['--cluster', 'c.json', '--plain', '--gpu-layers', '2'],
    '--gpu-layers: is about this machine alone; in a ring --plan says what GPUs compute',
  ],
  [
    'a ring and slots for experts',
    ['--cluster', 'c.json', '--plain', '--expert-slots', '4', '--memory', '64GiB'],
    '--expert-slots: works on one machine alone; leave it out in a ring',
  ],
  ['zero tokens', ['--tokens', '0'], '--tokens: "0" is not a whole number between 1 and 10000000'],
];
for (const [what, options, expected] of MISTAKES) {
  test(`${what} is an error`, async () => {
    assert.is(await requested(...options), expected);
  });
}

test.run();
