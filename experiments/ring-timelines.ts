import { readChoice, readCount } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { perfettoTrace } from '../engine/trace/perfetto.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { TIMELINE_CASES } from './ring-timelines/cases.ts';
import { claims } from './ring-timelines/claims.ts';
import { RESULT_COLUMNS, resultCells, timelinesReport } from './ring-timelines/report.ts';
import { RING_MODEL } from './ring-timelines/rings.ts';
import { RECLAIMS, runTimeline, type TimelineResult } from './ring-timelines/run.ts';

interface Options {
  readonly reclaim: string;
  readonly tokens: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

await runExperiment<Options>({
  name: 'ring-timelines',
  description:
    'The six timelines of prima.cpp Fig. 6, simulated: what computes, reads, sends and waits when, in PP and in PRP.',
  configure: (command) =>
    command
      .option('--reclaim <policy>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, 'linux')
      .option('--tokens <n>', 'tokens to draw, 1 to 4, in steady state', '1')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print the rows as JSON')
      .option(
        '--out <dir>',
        'where report.html, timelines.csv, timelines.json and a trace for ui.perfetto.dev per timeline go',
        'results/ring-timelines',
      ),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const reclaim = readChoice('--reclaim', options.reclaim, RECLAIMS);
  const tokens = readCount('--tokens', options.tokens, 1, 4);
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const progress = createProgress(TIMELINE_CASES.length);
  const results = TIMELINE_CASES.map((one) => {
    progress.step(one.title);
    return runTimeline(one, { reclaim, tokens });
  });
  progress.stop();
  const subtitle = `${RING_MODEL.name} on four devices · reclaim ${reclaim} · ${tokens} ${tokens === 1 ? 'token' : 'tokens'} in steady state`;
  const found = claims(results);
  const summary = {
    settings: { model: RING_MODEL.name, reclaim, tokens, seed, clusters: clusters() },
    rows: results.map(({ trace: _, ...row }) => row),
    claims: found,
  };
  const json = `${JSON.stringify(summary, undefined, 2)}\n`;
  writeFiles(
    options.out,
    new Map([
      ['report.html', renderReport(timelinesReport(results, subtitle))],
      ['timelines.csv', csvOf(results)],
      ['timelines.json', json],
      ...results.map(({ key, trace }): [string, string] => [traceFile(key), JSON.stringify(perfettoTrace(trace))]),
    ]),
  );
  if (options.json) process.stdout.write(json);
  else {
    const table = formatTable([...RESULT_COLUMNS], results.map(resultCells));
    const lines = found.map(({ text, found: here, holds }) => `${holds ? 'holds' : 'fails'}: ${text} Here ${here}.`);
    process.stdout.write(`${subtitle}\n\n${table}\n${lines.join('\n')}\n\nReport: ${options.out}/report.html\n`);
  }
}

/** What was simulated, in numbers: bytes, bytes per second, seconds; all assumed. */
function clusters(): unknown[] {
  return TIMELINE_CASES.map(({ key, cluster, plan }) => ({
    key,
    provenance: 'assumed',
    devices: cluster.devices.map(({ name, memory, cpu, disk }) => ({
      name,
      memoryAvailable: memory.available,
      memoryBandwidth: cpu.bandwidth,
      diskRate: disk.sequential,
    })),
    link: cluster.links.default,
    plan,
  }));
}

/** `d.trace.json`, `b-PP.trace.json` */
function traceFile(key: TimelineResult['key']): string {
  return `${key.replace(', ', '-')}.trace.json`;
}

function csvOf(results: readonly TimelineResult[]): string {
  return toCsv(
    ['panel', 'title', 'tpot_s', 'read_bytes_per_token', 'stall_s', 'bubble_s', 'idle_s'],
    results.map((one) => [
      one.key,
      one.title,
      one.tokenSeconds,
      one.readBytes,
      one.stallSeconds,
      one.bubbleSeconds,
      one.idleSeconds,
    ]),
  );
}
