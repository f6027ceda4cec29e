import { formatBytes, formatSeconds } from '../../engine/terminal/format.ts';
import type { Report, TableBlock } from '../lib/report.ts';
import { HOW_TO_READ, timelineBlocks } from '../timeline/blocks.ts';
import { type Claim, claims } from './claims.ts';
import { finding } from './findings.ts';
import type { TimelineResult } from './run.ts';

/** The columns of a row per case, in text and on the page. */
export const RESULT_COLUMNS = [
  { title: 'panel' },
  { title: 'what runs' },
  { title: 'TPOT', align: 'right' },
  { title: 'read', align: 'right' },
  { title: 'stalls', align: 'right' },
  { title: 'waits for others', align: 'right' },
  { title: 'bubbles', align: 'right' },
] as const;

export function resultCells(result: TimelineResult): string[] {
  const { key, title, tokenSeconds, readBytes, stallSeconds, bubbleSeconds, idleSeconds } = result;
  return [
    key,
    title,
    formatSeconds(tokenSeconds),
    formatBytes(readBytes),
    ...[stallSeconds, bubbleSeconds, idleSeconds].map(formatSeconds),
  ];
}

/** Where numbers come from: all of them are assumed but those that the simulator makes. */
const PROVENANCE =
  'Fig. 6 is a sketch without numbers. The devices are assumed: four Linux machines that compute a layer of 128 MiB in 27 ms (the fast one in 13 ms), read their disks at 2 GB/s or 500 MB/s, hand activations on in 2 ms, and have room for three and a half layers. Everything else is simulated: the same event-by-event model as in every other experiment.';

export function timelinesReport(results: readonly TimelineResult[], subtitle: string): Report {
  const panels = results.filter(({ key }) => key !== 'b, PP');
  const timelines = panels.map((result) => ({
    title: `(${result.key}) ${result.title}: ${formatSeconds(result.tokenSeconds)} per token`,
    note: finding(results, result),
    trace: result.trace,
  }));
  const found = claims(results);
  const held = found.filter(({ holds }) => holds).length;
  return {
    title: 'Where a ring’s time goes',
    subtitle,
    summary: `The six timelines of prima.cpp’s Fig. 6, simulated: pipeline parallelism (PP, one round) against the pipelined ring (PRP, four rounds), with and without prefetching, on equal and on different devices. ${held} of ${found.length} things that the paper says of them hold here.`,
    sections: [
      { title: 'In numbers', blocks: [resultTable(results), claimTable(found), { kind: 'text', text: PROVENANCE }] },
      { title: 'Timelines', blocks: [{ kind: 'text', text: HOW_TO_READ }, ...timelineBlocks(timelines)] },
    ],
  };
}

function resultTable(results: readonly TimelineResult[]): TableBlock {
  return {
    kind: 'table',
    title: 'Per token, seconds and bytes of all four devices together',
    columns: RESULT_COLUMNS,
    rows: results.map(resultCells),
  };
}

function claimTable(found: readonly Claim[]): TableBlock {
  return {
    kind: 'table',
    title: 'What the paper says of Fig. 6, and what comes out',
    columns: [{ title: 'prima.cpp 3.1 and A.2' }, { title: 'here' }, { title: 'holds' }],
    rows: found.map(({ text, found: here, holds }) => [text, here, holds ? 'yes' : 'no']),
  };
}
