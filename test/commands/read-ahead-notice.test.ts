import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readAheadLines, readAheadNotice } from '../../commands/read-ahead-notice.ts';
import { createNamedModel, loadCatalogue, loadDevices } from '../../datasets/load.ts';
import { type ExpertsPolicy, READ_METHODS, USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { namedPart, presetCluster, readPreset } from '../../engine/hardware/preset-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';

const catalogue = loadCatalogue();
const KIB = 1024;
const GIB = 2 ** 30;

function notice(name: string, gibibytes: number, readAhead: number | undefined): string | undefined {
  const model = createNamedModel(catalogue, name);
  return readAheadNotice({ file: 'model.gguf', model, available: gibibytes * GIB, readAhead });
}

test('a mixture that exceeds memory says what page faults read besides its experts, and what to do', () => {
  // An expert of Qwen3-30B-A3B has three matrices of 768 × 2048 in about 4.9 bits: 0.9 MB. Eight MiB ahead are nine of them.
  const text = notice('Qwen3-30B-A3B:Q4_K_M', 8, 8192 * KIB) ?? '';
  assert.match(
    text,
    /^model\.gguf: its 17\.\d GiB exceed the 8\.00 GiB that are available\. Page faults read 8\.00 MiB ahead, /,
  );
  const [, factor, kib] =
    /about ([\d.]+) times .* give --memory, .* set read_ahead_kb of its disk to (\d+)$/.exec(text) ?? [];
  assert.ok(Number(factor) > 1.5 && Number(factor) < 10, text);
  assert.ok(Number(kib) > 700 && Number(kib) < 1100, text);
});

test('nothing is said of what fits, of dense models, of short read-ahead, and where nobody says how long it is', () => {
  assert.is(notice('Qwen3-30B-A3B:Q4_K_M', 32, 8192 * KIB), undefined);
  assert.is(notice('Llama-3-70B:Q4_K_M', 8, 8192 * KIB), undefined);
  assert.is(notice('Qwen3-30B-A3B:Q4_K_M', 8, 128 * KIB), undefined);
  assert.is(notice('Qwen3-30B-A3B:Q4_K_M', 8, undefined), undefined);
});

const DESKTOP = 'Desktop Ryzen 7 7700 32 GB';

/** Lines about a mixture of 61 GB in a plan for a desktop with 32 GB whose disk reads so far ahead. */
function lines(readAhead: number | undefined, experts?: ExpertsPolicy): string[] {
  const parts = loadDevices();
  const network = namedPart(parts, { name: 'Wi-Fi 6', flag: '--link', kinds: ['link'] });
  const bare = parseCluster(presetCluster([readPreset(parts, DESKTOP, '--device')], network), 'devices');
  const devices = bare.devices.map((one) => ({
    ...one,
    disk: { ...one.disk, ...(readAhead !== undefined && { readAhead }) },
  }));
  const model = createNamedModel(catalogue, 'Qwen3-30B-A3B:F16');
  const cluster = createCluster({ ...bare, devices });
  const place = { device: DESKTOP, processor: 'cpu' } as const;
  const plan = createPlan({
    ...{ scheduler: 'hand', rounds: 1, embedding: place, output: place, kvCache: 'with-layers' },
    stages: [{ ...place, from: 0, to: model.layers }],
    weights: { [DESKTOP]: { prefetch: 'none', release: 'none', ...(experts && { experts }) } },
  });
  return readAheadLines({ cluster, model, workload: createWorkload({ promptTokens: 128, context: 1024 }) }, plan);
}

test('devices whose plan leaves experts to page faults say what a long read-ahead costs, and the command that shortens it', () => {
  const [line = '', ...others] = lines(8192 * KIB);
  assert.is(others.length, 0);
  assert.match(
    line,
    /^Desktop Ryzen 7 7700 32 GB: page faults read 8\.00 MiB ahead, about [\d.]+ times the bytes of the experts/,
  );
  const kib = Number(/: echo (\d+) \| sudo tee \/sys\/block\/DISK\/queue\/read_ahead_kb$/.exec(line)?.[1]);
  assert.equal(lines(kib * KIB), []);
});

test('nothing is said of devices that don’t state it, and of experts that the plan caches, which are read exactly', () => {
  assert.equal(lines(undefined), []);
  for (const method of READ_METHODS) assert.equal(lines(8192 * KIB, { ...USUAL_EXPERTS, method }), [], method);
});

test.run();
