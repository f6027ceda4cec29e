import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { ExpertHolder } from '../../engine/plan/plan.ts';
import { expertLayersOf } from '../../engine/plan/validate-experts.ts';
import { createExpertHolder } from '../../engine/ring/device/held-experts.ts';
import { createDividedExperts } from '../../engine/ring/head/divided-experts.ts';
import type { RingLayout } from '../../engine/ring/head/planning.ts';
import type { ExpertsFrame, SumsFrame } from '../../engine/ring/wire/frame.ts';
import { FrameError } from '../../engine/ring/wire/frame-error.ts';
import { createKeys } from '../../engine/ring/wire/keys.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { testIf } from '../support/needs.ts';
import { until } from './processes.ts';
import { headHere, type LoggedWorker, loadOnOneThread, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

const CONTEXT = 64;

/** A prompt, a token that is added to it, and others. */
const partsOf = (tokens: readonly number[]): readonly (readonly number[])[] => [
  tokens.slice(0, 21),
  ...tokens.slice(21, 27).map((token) => [token]),
  tokens.slice(27, 40),
];

function alone(name: string): number[][] {
  const kernels = openKernels({ threads: 1 });
  const one = loadTransformer(goldenArchitecturePath(name), {
    ...{ kernels, context: CONTEXT, kvCache: 'F32', warn: () => {} },
  });
  const logits = partsOf(goldenArchitecture(name).tokens).map((part) => [...one.evaluate(part)]);
  kernels.close();
  return logits;
}

/** Experts dealt to devices in turn, layer by layer another first. */
function dealt(name: string, devices: readonly string[]): ExpertHolder[] {
  const loaded = loadOnOneThread(goldenArchitecturePath(name));
  const { layers, experts } = expertLayersOf(loaded.part.model, 0, loaded.part.model.layers);
  loaded.close();
  return devices.map((device, index) => ({
    device,
    experts: Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: experts }, (_, expert) => expert).filter(
        (expert) => (expert + layer) % devices.length === index,
      ),
    ),
  }));
}

/** A ring whose head runs all layers. */
async function divided(name: string, devices: readonly string[], encrypted = false) {
  const path = goldenArchitecturePath(name);
  const headKeys = encrypted ? createKeys() : undefined;
  const workers: LoggedWorker[] = [];
  for (const device of devices.filter((one) => one !== 'head'))
    workers.push(await workerHere(device, path, { headKeys }));
  const settings = { ...SETTINGS, context: CONTEXT, pageTokens: CONTEXT };
  const { head } = headHere(
    path,
    workers.map(({ member }) => member),
    { settings, keys: headKeys },
  );
  const { layers } = workers[0]?.loaded.part.model ?? { layers: 0 };
  const layout: RingLayout = {
    ...{ windows: [{ device: 'head', from: 0, to: layers }], weights: {} },
    holders: dealt(name, devices),
  };
  await head.gather();
  await head.assemble(layout);
  return {
    head,
    workers,
    async close() {
      await head.close();
      for (const { worker } of workers) await worker.close();
    },
  };
}

/** The largest difference, relative to the largest logit of a part. */
function difference(found: readonly (readonly number[])[], expected: readonly (readonly number[])[]): number {
  return Math.max(
    ...expected.map((row, part) => {
      const largest = Math.max(...row.map(Math.abs));
      return Math.max(...row.map((value, at) => Math.abs(value - (found[part]?.[at] ?? Number.NaN)))) / largest;
    }),
  );
}

for (const [name, devices, encrypted] of [
  ['granitemoe-F16', ['a'], false],
  ['qwen3moe-F16', ['head', 'a', 'b'], true],
  ['glm4moe-F16', ['head', 'a'], false],
  ['granitemoe-F16', ['a', 'head', 'b', 'c'], false],
] as const)
  testIf(
    hasGoldenArchitecture(name),
    'no such golden model',
    `${name}: experts on ${devices.join(', ')}${encrypted ? ', encrypted' : ''} give the logits of one process`,
    async () => {
      const { head, close } = await divided(name, devices, encrypted);
      try {
        const request = requestOf(head);
        const logits: number[][] = [];
        for (const part of partsOf(goldenArchitecture(name).tokens)) logits.push([...(await request.evaluate(part))]);
        const found = difference(logits, alone(name));
        assert.ok(found < 1e-5, `${found}`);
      } finally {
        await close();
      }
    },
  );

testIf(
  hasGoldenArchitecture('granitemoe-F16'),
  'no such golden model',
  'a lost holder ends the request, and is named',
  async () => {
    const { head, workers, close } = await divided('granitemoe-F16', ['head', 'a', 'b']);
    try {
      const request = requestOf(head);
      await request.evaluate([1, 2, 3]);
      await workers[1]?.worker.close();
      await until('the loss', 10, () => !head.whole);
      const error = await request.evaluate([4]).then(
        () => undefined,
        (reason: Error) => reason,
      );
      assert.match(error?.message ?? '', /^b: /);
    } finally {
      await close();
    }
  },
);

const NAME = 'granitemoe-F16';

testIf(hasGoldenArchitecture(NAME), 'no such golden model', 'a holder refuses what no head sends', () => {
  const loaded = loadOnOneThread(goldenArchitecturePath(NAME));
  const [{ experts: held }] = dealt(NAME, ['a', 'b']) as [ExpertHolder];
  const sums: SumsFrame[] = [];
  const holder = createExpertHolder({
    ...{ loaded, held, epoch: 5, activations: 'F32', chunk: 2, record: () => {}, onFailed: assert.unreachable },
    send: (frame) => sums.push(frame),
  });
  const { hiddenSize } = loaded.part.model;
  const right: ExpertsFrame = {
    ...{ kind: 'experts', epoch: 5, number: 0, layer: 0, format: 'F32', sentAt: 0 },
    rows: [[{ expert: held[0]?.[0] ?? 0, weight: 1 }]],
    payload: new Uint8Array(4 * hiddenSize),
  };
  const refused = (change: Partial<ExpertsFrame>, reason: RegExp): void => {
    assert.throws(
      () => holder.accept({ ...right, ...change }),
      (error: Error) => error instanceof FrameError && reason.test(error.message),
    );
  };
  refused({ number: 1 }, /^request 1 for experts; the next one is 0$/);
  refused({ layer: 99 }, /^a request for experts of layer 99, which has none$/);
  refused({ rows: [[{ expert: 1, weight: 1 }]] }, /^a request for expert 1 of layer 0, which is not held here$/);
  refused({ rows: [right.rows[0] ?? [], right.rows[0] ?? [], right.rows[0] ?? []] }, /^3 rows .* has 2 at most$/);
  refused({ payload: new Uint8Array(8) }, /^8 bytes of F32 for experts; \d+ of F32 are planned$/);
  refused({ format: 'F16' }, /of F16 for experts/);
  holder.accept({ ...right, epoch: 6 });
  assert.is(sums.length, 0, 'another assembly');
  holder.accept(right);
  assert.is(sums.length, 1);
  refused({}, /^request 0 for experts; the next one is 1$/);
  loaded.close();
});

testIf(
  hasGoldenArchitecture(NAME),
  'no such golden model',
  'the head refuses sums that it did not ask for',
  async () => {
    const loaded = loadOnOneThread(goldenArchitecturePath(NAME));
    const sent: ExpertsFrame[] = [];
    const experts = createDividedExperts({
      ...{ head: 'head', loaded, holders: dealt(NAME, ['a']), epoch: 5, activations: 'F32', record: () => {} },
      send: (_, frame) => sent.push(frame),
      whileWhole: (work) => work,
    });
    const { hiddenSize } = loaded.part.model;
    const sums: SumsFrame = {
      ...{ kind: 'sums', epoch: 5, number: 0, layer: 0, rows: 1, format: 'F32', sentAt: 0 },
      payload: new Uint8Array(4 * hiddenSize),
    };
    const refused = (change: Partial<SumsFrame>, reason: RegExp, from = 'a'): void => {
      assert.throws(
        () => experts.take({ ...sums, ...change }, from),
        (error: Error) => error instanceof FrameError && reason.test(error.message),
      );
    };
    refused({}, /while none are awaited from it$/);
    const ask = (): Promise<void> =>
      experts.multiply(
        0,
        [{ tokens: 1, multiplied: undefined }],
        new Float32Array([...new Float32Array(hiddenSize), 0, 1]),
      );
    const done = ask();
    refused({}, /while none are awaited from it$/, 'b');
    refused({ number: 1 }, /whose number is not that of request 0$/);
    refused({ layer: 1 }, /whose layer is not that of request 0$/);
    refused({ rows: 2 }, /whose rows is not that of request 0$/);
    refused({ payload: new Uint8Array(4) }, /^4 bytes of F32 for 1 sums/);
    experts.take(sums, 'a');
    await done;
    refused({}, /while none are awaited from it$/);
    const again = ask();
    const bad = new Float32Array(hiddenSize).fill(Number.NaN);
    experts.take({ ...sums, number: 1, payload: new Uint8Array(bad.buffer) }, 'a');
    const error = await again.catch((reason: Error) => reason);
    assert.match((error as Error).message, /^a: sent activations that are not numbers/);
    loaded.close();
  },
);

test.run();
