import { deflateRawSync } from 'node:zlib';
import type { Redis } from 'ioredis';
import type { RandomStream } from '../../../engine/input/random-stream.ts';
import { RESULT as SENSITIVITIES } from '../../../experiments/papers/sensitivity/sweep-points.ts';
import { RESULT as PARTITIONS } from '../../../experiments/partition-sweep/sweep-points.ts';
import { RESULT as ROUNDS } from '../../../experiments/rounds/sweep-points.ts';
import { listSweeps, liveWorkers, loadSweep, parseJob, readBlocks } from '../../../experiments/sweep/redis/store.ts';
import { createReadResult, createSweep, type Sweep } from '../../../experiments/sweep/sweep.ts';
import { RESULT as UPGRADES } from '../../../experiments/upgrades/sweep-points.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { type Json, jsonText, mutateJson } from '../mutate-json.ts';
import type { FuzzTarget } from '../target.ts';

/** Results of one point, by the kind of sweep. */
const RESULTS: Readonly<Record<string, readonly Json[]>> = {
  upgrades: [0.25, null],
  rounds: [
    {
      ...{ model: 'm', mix: 'Q4_K_M', bytes: 1e9, policy: 'prefetch', reclaim: 'os', rounds: 2 },
      ...{ seconds: 0.5, readBytes: 0, reason: '' },
    },
  ],
  'partition-sweep': [
    { plan: 0, seconds: 0.5, predicted: 0.25 },
    { plan: 0, failed: 'out of memory: D4' },
  ],
  reproduce: [[0.5, null, 2]],
};
const READ = {
  upgrades: createReadResult('upgrades', UPGRADES),
  rounds: createReadResult('rounds', ROUNDS),
  'partition-sweep': createReadResult('partition-sweep', PARTITIONS),
  reproduce: createReadResult('reproduce', SENSITIVITIES),
};
const KINDS = Object.keys(READ) as (keyof typeof READ)[];

/** Points of the sweeps whose blocks are read. */
const POINTS = 8;

/** Records that sweeps keep in Redis. An input is the name of its format, a line break and what a stranger wrote. */
export async function open(): Promise<FuzzTarget> {
  const sweeps = KINDS.map((kind) => createSweep(kind, { seed: 1 }, POINTS));
  return {
    input: (random) => mutated(sweeps, random),
    async read(input) {
      const end = input.indexOf(10);
      const [format = '', kind = ''] = Buffer.from(input.subarray(0, Math.max(0, end)))
        .toString()
        .split(' ');
      const bytes = Buffer.from(input.subarray(end + 1));
      if (format === 'job') return `job of ${parseJob(jsonOf(bytes)).count > 1 ? 'blocks' : 'a block'}`;
      if (format === 'sweep') return (await loadSweep(redisWith(bytes), sweeps[0]?.id ?? '')).kind;
      if (format === 'listed') return `${(await listSweeps(redisWith(bytes))).length} listed`;
      if (format === 'worker') return `${(await liveWorkers(redisWith(bytes))).length} workers`;
      const sweep = sweeps.find((one) => one.kind === kind);
      const read = KINDS.find((one) => one === kind);
      if (sweep === undefined || read === undefined) return 'no format';
      const [lines] = await readBlocks(redisWith(bytes), sweep, READ[read], { first: 0, count: 1 });
      return `${lines?.length} results of ${kind}`;
    },
  };

  /** A Redis in which every record is this one. */
  function redisWith(bytes: Buffer): Redis {
    const text = bytes.toString();
    return {
      get: async () => text,
      strlen: async () => bytes.length,
      smembers: async () => [sweeps[0]?.id ?? ''],
      mget: async () => [text],
      hmgetBuffer: async () => [bytes],
      srem: async () => 0,
    } as unknown as Redis;
  }
}

/** A job's data as BullMQ gives them: JSON that is read, or nothing. */
function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** Up to three changes of a record, and sometimes of its bytes; results are packed before or after that. */
function mutated(sweeps: readonly Sweep[], random: RandomStream): Uint8Array {
  const sweep = random.pick(sweeps);
  const [id] = sweeps.map((one) => one.id);
  const worker = { name: 'host-1-a', host: 'host', pid: 1, threads: 2, version: 'abc', points: 3 };
  const records: Readonly<Record<string, Json>> = {
    job: { sweep: id ?? '', first: 0, count: 2, hangSeconds: 600 },
    sweep: { ...sweeps[0], version: 'abc' } as unknown as Json,
    listed: { version: 'abc' },
    worker,
  };
  const format = random.pick(['job', 'sweep', 'listed', 'worker', 'block', 'block', 'block']);
  const change = (json: Json): Json => {
    let changed = json;
    for (let times = random.integer(0, 3); times > 0; times--) changed = mutateJson(changed, worker, random);
    return changed;
  };
  const record = records[format];
  const results = RESULTS[sweep.kind] ?? [];
  const count = random.integer(0, 9) === 0 ? random.integer(0, 20) : Math.min(POINTS, sweep.block);
  const lines = Array.from({ length: count }, () => change(random.pick(results)));
  const text = record === undefined ? lines.map((line) => jsonText(line)).join('\n') : jsonText(change(record));
  let bytes: Uint8Array = Buffer.from(text);
  if (random.integer(0, 3) === 0) bytes = mutateBytes(bytes, Buffer.from('{"point":0,"error":"x"}'), random);
  if (record === undefined) bytes = deflateRawSync(bytes);
  if (random.integer(0, 5) === 0) bytes = mutateBytes(bytes, Buffer.from('\u001b[2J'), random);
  return Buffer.concat([Buffer.from(`${format} ${sweep.kind}\n`), bytes]);
}
