import { availableParallelism, cpus } from 'node:os';
import { InputError } from '../engine/input/input-error.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { count, number, option } from './report/options.ts';
import { readPlace } from './sweep/options.ts';
import { compareSweeps, JOB_SECONDS, simulateCapacity, WORKERS } from './sweep-capacity/cases.ts';
import { capacityFindings, capacityPage, capacityTable, comparedTable } from './sweep-capacity/report.ts';
import { type Measured, recordedTimes } from './sweep-capacity/service-times.ts';

/** Real sweeps next to the simulation: workers, and seconds that a point waits. */
const REAL = { workers: [1, 2, 4, 8], jobSeconds: [0.002, 0.02] } as const;

await runExperiment({
  name: 'sweep-capacity',
  description: 'How many workers one Redis carries, simulated with the times that its commands take.',
  options: {
    pointMilliseconds: number('--point-ms <ms>', 'time of a point on a worker', {
      default: 1,
      least: 0.001,
      most: 10,
    }),
    latencyMilliseconds: number('--latency-ms <ms>', 'from a worker to Redis, one way', {
      default: 0.1,
      least: 0,
      most: 1000,
    }),
    mostWorkers: count('--most-workers <n>', 'workers of one thread', { default: 5000, most: 5000 }),
    on: option('--on <url>', 'measure anew at an idle Redis on this machine: redis://127.0.0.1:PORT', readRedis),
  },
  json: 'sweep-capacity.json',
  files: ['sweep-capacity.csv'],
  seed: { help: 'of the lengths of jobs' },
  async run({ pointMilliseconds, latencyMilliseconds, mostWorkers, on, seed }, { progress }) {
    const measured = on === undefined ? recordedTimes() : await measureAt(on, progress);
    const workers = WORKERS.filter((some) => some <= mostWorkers);
    const bar = progress(JOB_SECONDS.length * workers.length);
    const asked = { pointSeconds: pointMilliseconds / 1000, latency: latencyMilliseconds / 1000, seed };
    const rows = JOB_SECONDS.flatMap((jobSeconds) =>
      workers.map((some) => {
        bar.step(`${some} workers, jobs of ${jobSeconds} s`);
        return simulateCapacity(measured, jobSeconds, some, asked);
      }),
    );
    const compared = compareSweeps(measured, seed);
    const table = capacityTable(rows);
    return {
      subtitle: `Points of ${pointMilliseconds} ms, ${latencyMilliseconds} ms to Redis and as much back; times measured: ${measured.source}`,
      findings: capacityFindings(rows, compared),
      data: { settings: { pointMilliseconds, latencyMilliseconds, mostWorkers, seed }, measured, rows, compared },
      text: [terminalTable(table), terminalTable(comparedTable(compared))],
      page: capacityPage(rows, compared, measured, asked.pointSeconds),
      files: { 'sweep-capacity.csv': tableCsv(table) },
    };
  },
});

async function measureAt(url: string, progress: (steps: number) => { step(text: string): void }): Promise<Measured> {
  if (process.platform !== 'linux') throw new InputError('--on', 'measures on Linux only; leave it out');
  const { measureServiceTimes, MEASURE_STEPS, redisVersion } = await import('./sweep-capacity/measure.ts');
  const { realSweep } = await import('./sweep-capacity/real-sweep.ts');
  const bar = progress(MEASURE_STEPS + REAL.workers.length * REAL.jobSeconds.length);
  const times = await measureServiceTimes(url, () => bar.step('service times'));
  const sweeps: Measured['sweeps'][number][] = [];
  for (const jobSeconds of REAL.jobSeconds)
    for (const workers of REAL.workers) {
      bar.step(`${workers} workers`);
      const jobs = Math.min(3000, Math.round((4 * workers) / jobSeconds));
      sweeps.push(await realSweep(url, { workers, jobSeconds, jobs }));
    }
  const day = new Date().toISOString().slice(0, 10);
  const source = `${cpus()[0]?.model}, ${availableParallelism()} processors, Redis ${await redisVersion(url)}, Node ${process.versions.node}, ${day}`;
  return { source, processors: availableParallelism(), times, sweeps };
}

function readRedis(flag: string, text: string): string {
  const place = readPlace(flag, text);
  if (place.kind !== 'redis') throw new InputError(flag, `"${text}" isn’t a Redis URL; give redis://127.0.0.1:PORT`);
  return place.url;
}
