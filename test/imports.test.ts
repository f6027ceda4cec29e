import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/**
 * Rooms, from the bottom up, and the rooms that each may import besides itself. A file belongs to the row with the
 * longest matching path; a row names only rows above it, so that imports run one way. docs/explanation/architecture.md explains
 * why.
 */
const RULES: readonly (readonly [room: string, imports: readonly string[]])[] = [
  ['engine/input', []],
  ['engine/design', []],
  ['engine/files', ['engine/input']],
  ['engine/batch', ['engine/input']],
  ['engine/experts', ['engine/input']],
  ['engine/model', ['engine/input']],
  ['engine/hardware', ['engine/input', 'engine/model']],
  ['engine/plan', ['engine/input', 'engine/experts', 'engine/model', 'engine/hardware']],
  ['engine/cost', ['engine/input', 'engine/experts', 'engine/model', 'engine/hardware', 'engine/plan']],
  ['engine/trace', ['engine/cost']],
  ['engine/schedule', ['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost']],
  ['simulator/event-loop', []],
  ['simulator/page-cache', ['engine/cost']],
  [
    'simulator/hardware',
    [
      'engine/experts',
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['simulator/event-loop', 'simulator/page-cache'],
    ],
  ],
  [
    'simulator',
    [
      ...['engine/batch', 'engine/experts'],
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['simulator/event-loop', 'simulator/page-cache', 'simulator/hardware'],
    ],
  ],
  [
    'datasets/lab',
    [
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['simulator', 'simulator/page-cache'],
    ],
  ],
  [
    'planner',
    [
      'engine/experts',
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['engine/schedule', 'simulator', 'simulator/page-cache'],
    ],
  ],
  ['engine/gguf', ['engine/input', 'engine/files', 'engine/model']],
  ['engine/kernels', ['engine/input', 'engine/model', 'engine/gguf']],
  [
    'engine/runtime/kv',
    ['engine/model', 'engine/plan', 'engine/input', 'engine/cost', 'engine/trace', 'engine/kernels'],
  ],
  [
    'engine/runtime/weights',
    [
      ...['engine/input', 'engine/experts', 'engine/model', 'engine/plan', 'engine/trace', 'engine/gguf'],
      'engine/kernels',
    ],
  ],
  [
    'engine/runtime/pass',
    [
      ...['engine/experts', 'engine/model', 'engine/plan', 'engine/gguf', 'engine/kernels'],
      ...['engine/runtime/kv', 'engine/runtime/weights'],
    ],
  ],
  [
    'engine/runtime/observed',
    ['engine/input', 'engine/experts', 'engine/model', 'engine/gguf', 'engine/kernels', 'engine/runtime/pass'],
  ],
  [
    'engine/runtime/cut',
    [
      ...['engine/input', 'engine/model', 'engine/plan', 'engine/gguf', 'engine/kernels'],
      ...['engine/runtime/weights', 'engine/runtime/pass', 'engine/runtime/observed'],
    ],
  ],
  [
    'engine/runtime/texts',
    [
      ...['engine/input', 'engine/experts', 'engine/model', 'engine/trace', 'engine/gguf', 'engine/kernels'],
      ...['engine/runtime/kv', 'engine/runtime/pass'],
    ],
  ],
  [
    'engine/runtime/split',
    [
      ...['engine/input', 'engine/model', 'engine/plan', 'engine/gguf', 'engine/kernels', 'engine/runtime/kv'],
      ...['engine/runtime/weights', 'engine/runtime/pass', 'engine/runtime/observed', 'engine/runtime/cut'],
      'engine/runtime/texts',
    ],
  ],
  [
    'engine/runtime/load',
    [
      ...['engine/files', 'engine/input', 'engine/experts', 'engine/model', 'engine/plan', 'engine/trace'],
      ...['engine/gguf', 'engine/kernels', 'engine/runtime/kv', 'engine/runtime/weights', 'engine/runtime/pass'],
      ...['engine/runtime/observed', 'engine/runtime/texts'],
    ],
  ],
  ['engine/text', ['engine/input', 'engine/gguf']],
  ['engine/text/speculation', ['engine/input', 'engine/cost', 'engine/gguf', 'engine/text']],
  [
    'engine/runtime/batch',
    [
      ...['engine/batch', 'engine/input', 'engine/model', 'engine/runtime/pass', 'engine/runtime/texts'],
      ...['engine/text', 'engine/text/speculation'],
    ],
  ],
  [
    'engine/server',
    [
      ...['engine/input', 'engine/design', 'engine/text', 'engine/text/speculation'],
      // /metrics shows the counts of experts' reads.
      ...['engine/experts', 'engine/runtime/batch'],
    ],
  ],
  ['engine/terminal', ['engine/input']],
  [
    'engine/profile',
    [
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/cost', 'engine/terminal', 'engine/gguf'],
      ...['engine/kernels', 'engine/runtime/kv', 'engine/runtime/weights', 'engine/runtime/pass'],
      ...['engine/runtime/texts', 'engine/runtime/split'],
    ],
  ],
  [
    'engine/ring/wire',
    [
      ...['engine/input', 'engine/model', 'engine/experts', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['engine/gguf', 'engine/kernels'],
    ],
  ],
  [
    'engine/ring/device',
    [
      ...[
        'engine/input',
        'engine/model',
        'engine/hardware',
        'engine/experts',
        'engine/plan',
        'engine/cost',
        'engine/gguf',
      ],
      'engine/kernels',
      ...['engine/runtime/kv', 'engine/runtime/weights', 'engine/runtime/pass', 'engine/runtime/cut'],
      ...['engine/runtime/split', 'engine/runtime/load', 'engine/ring/wire'],
    ],
  ],
  [
    'engine/ring/head',
    [
      ...['engine/batch', 'engine/experts'],
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/trace', 'engine/schedule'],
      ...['engine/runtime/pass', 'engine/runtime/texts', 'engine/text', 'engine/ring/wire', 'engine/ring/device'],
    ],
  ],
  ['datasets', ['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/gguf']],
  [
    'commands',
    [
      'engine/batch',
      'engine/experts',
      'engine/files',
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['engine/schedule', 'planner', 'datasets', 'engine/terminal', 'engine/gguf', 'engine/kernels'],
      ...['engine/runtime/kv', 'engine/runtime/weights', 'engine/runtime/pass', 'engine/runtime/observed'],
      ...['engine/runtime/texts', 'engine/runtime/split', 'engine/runtime/load'],
      ...['engine/text', 'engine/text/speculation', 'engine/profile', 'engine/ring/wire'],
      ...['engine/ring/device', 'engine/ring/head', 'engine/runtime/batch', 'engine/server'],
    ],
  ],
  [
    'notebooks',
    [
      ...['engine/design', 'engine/experts'],
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['engine/schedule', 'planner', 'engine/gguf', 'engine/kernels'],
      ...['engine/runtime/weights', 'engine/runtime/pass', 'engine/runtime/texts', 'engine/text'],
      ...['simulator', 'simulator/event-loop', 'simulator/page-cache', 'simulator/hardware', 'datasets'],
      'datasets/lab',
    ],
  ],
  [
    'library',
    [
      'engine/batch',
      ...['engine/input', 'engine/model', 'engine/hardware', 'engine/plan', 'engine/cost', 'engine/trace'],
      ...['engine/schedule', 'planner', 'engine/gguf', 'engine/kernels'],
      ...['engine/runtime/pass', 'engine/runtime/load', 'engine/text'],
      ...['simulator', 'datasets'],
    ],
  ],
  ['native', ['engine/files', 'engine/gguf']],
  ['experiments', []],
];

/**
 * Rooms that every experiment may import: the engine, the simulator, the datasets and the shared rooms of experiments.
 */
const SHARED_EXPERIMENTS = [
  'experiments/report',
  'experiments/timeline',
  'experiments/lab',
  'experiments/papers',
  'experiments/sweep',
];
/** Experiments that use another experiment's case. */
const BORROWED: Readonly<Record<string, readonly string[]>> = {
  // The report on the papers judges values of the testbeds, which that experiment chooses.
  'experiments/papers': ['experiments/consistency'],
  'experiments/partition-sweep': ['experiments/rounds'],
  // Experts that are read from a disk are simulated as in the findings on them.
  'experiments/field': ['experiments/contradictions'],
  // How a plan is simulated in its steady state.
  'experiments/upgrades': ['experiments/partition-sweep'],
  'experiments/prefetch-release': ['experiments/ring-timelines'],
  // Models with random weights, made unless they are there.
  'experiments/split-measured': ['experiments/measure'],
  'experiments/partition-measured': ['experiments/measure'],
  'experiments/npu-measured': ['experiments/measure'],
  'experiments/serving': ['experiments/measure'],
  // And texts that the small models know how to go on with.
  'experiments/speculation': ['experiments/measure', 'experiments/train'],
};

const files = [
  'engine',
  'simulator',
  'planner',
  'commands',
  'library',
  'experiments',
  'notebooks',
  'datasets',
  'native',
].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.startsWith('build/'))
    .map((file) => `${root}/${file}`),
);

/** The project's files that each file imports, including imports of types only. */
const imports = new Map(
  files.map((file): [string, readonly string[]] => {
    const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'), true, true);
    const own = importedFiles.filter(({ fileName }) => fileName.startsWith('.') && fileName.endsWith('.ts'));
    return [file, own.map(({ fileName }) => join(dirname(file), fileName)).filter((name) => !name.endsWith('.d.ts'))];
  }),
);

function roomOf(file: string): string {
  const rooms = RULES.map(([room]) => room).filter((room) => file.startsWith(`${room}/`));
  return rooms.toSorted((a, b) => b.length - a.length)[0] ?? file;
}

test('every room imports only rooms below it', () => {
  for (const [index, [room, allowed]] of RULES.entries()) {
    const below = RULES.slice(0, index).map(([name]) => name);
    assert.equal(
      allowed.filter((one) => !below.includes(one)),
      [],
      `${room} names rooms that don’t lie below it`,
    );
    assert.ok(existsSync(room), `${room} is gone; remove its rule`);
  }
  const wrong = [...imports].flatMap(([file, targets]) => {
    const room = roomOf(file);
    if (room === 'experiments') return [];
    const allowed = RULES.find(([name]) => name === room)?.[1] ?? [];
    return targets
      .filter((target) => roomOf(target) !== room && !allowed.includes(roomOf(target)))
      .map((target) => `${file} imports ${target}`);
  });
  assert.equal(wrong, []);
});

test('experiments build on shared rooms, not on each other', () => {
  const partOf = (file: string): string => file.split('/').slice(0, 2).join('/').replace(/\.ts$/, '');
  const isOwn = (file: string, target: string): boolean =>
    partOf(target) === partOf(file) || (BORROWED[partOf(file)] ?? []).includes(partOf(target));
  const wrong = [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => file.startsWith('experiments/') && target.startsWith('experiments/'))
      .filter((target) => !isOwn(file, target) && !SHARED_EXPERIMENTS.includes(partOf(target)))
      .map((target) => `${file} imports ${target}`),
  );
  assert.equal(wrong, []);
});

test('there is no import circle, not of types either', () => {
  const state = new Map<string, 'open' | 'done'>();
  const path: string[] = [];
  const circles: string[] = [];
  const visit = (file: string): void => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    state.set(file, 'open');
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    state.set(file, 'done');
  };
  for (const file of files) visit(file);
  assert.equal(circles, []);
  assert.ok(files.length > 300);
});

test.run();
