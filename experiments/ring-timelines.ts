import { perfettoTrace } from '../engine/trace/perfetto.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, count } from './report/options.ts';
import { TIMELINE_CASES } from './ring-timelines/cases.ts';
import { claims } from './ring-timelines/claims.ts';
import { summaryOf, TIMELINES, timelinesPage } from './ring-timelines/report.ts';
import { RING_MODEL } from './ring-timelines/rings.ts';
import { RECLAIMS, runTimeline, type TimelineResult } from './ring-timelines/run.ts';

await runExperiment({
  name: 'ring-timelines',
  description:
    'The six timelines of prima.cpp Fig. 6, simulated: what computes, reads, sends and waits when, in PP and in PRP.',
  options: {
    reclaim: choice('--reclaim <policy>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, RECLAIMS, 'linux'),
    tokens: count('--tokens <n>', 'tokens to draw, 1 to 4, in steady state', { default: 1, least: 1, most: 4 }),
  },
  json: 'timelines.json',
  files: ['timelines.csv', 'a trace for ui.perfetto.dev per timeline'],
  run({ reclaim, tokens, seed }, { progress }) {
    const bar = progress(TIMELINE_CASES.length);
    const results = TIMELINE_CASES.map((one) => {
      bar.step(one.title);
      return runTimeline(one, { reclaim, tokens });
    });
    const found = claims(results);
    const table = { columns: TIMELINES, rows: results };
    return {
      subtitle: `${RING_MODEL.name} on four devices · reclaim ${reclaim} · ${tokens} ${tokens === 1 ? 'token' : 'tokens'} in steady state`,
      findings: [summaryOf(found)],
      data: {
        settings: { model: RING_MODEL.name, reclaim, tokens, seed, clusters: clusters() },
        rows: results.map(({ trace: _, ...row }) => row),
        claims: found,
      },
      text: [
        terminalTable(table),
        found.map((one) => `${one.holds ? 'holds' : 'fails'}: ${one.text} Here ${one.found}.`).join('\n'),
      ],
      page: timelinesPage(results, found),
      files: {
        'timelines.csv': tableCsv(table),
        ...Object.fromEntries(results.map(({ key, trace }) => [traceFile(key), JSON.stringify(perfettoTrace(trace))])),
      },
    };
  },
});

/** The simulated clusters in numbers: bytes, bytes per second, seconds; all assumed. */
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
