import { formatBytes, formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { barChart, type Figure } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { HOW_TO_READ, timelineBlocks } from '../timeline/blocks.ts';
import type { Claim } from './claims.ts';
import type { TimelineResult } from './run.ts';

/** A row per timeline; seconds and bytes are per token, of all four devices together. */
export const TIMELINES: readonly Column<TimelineResult>[] = [
  { title: 'panel', key: 'panel', value: ({ key }) => key },
  { title: 'what runs', key: 'title', value: ({ title }) => title },
  { title: 'TPOT', key: 'tpot_s', value: ({ tokenSeconds }) => tokenSeconds, unit: 'seconds' },
  { title: 'read', key: 'read_bytes_per_token', value: ({ readBytes }) => readBytes, unit: 'bytes' },
  { title: 'stalls', key: 'stall_s', value: ({ stallSeconds }) => stallSeconds, unit: 'seconds' },
  { title: 'waits for others', key: 'bubble_s', value: ({ bubbleSeconds }) => bubbleSeconds, unit: 'seconds' },
  { title: 'bubbles', key: 'idle_s', value: ({ idleSeconds }) => idleSeconds, unit: 'seconds' },
];

const CLAIMS: readonly Column<Claim>[] = [
  { title: 'prima.cpp 3.1 and A.2', value: ({ text }) => text },
  { title: 'here', value: ({ found }) => found },
  { title: 'holds', value: ({ holds }) => (holds ? 'yes' : 'no') },
];

/** The sources of the numbers. */
const PROVENANCE =
  'Fig. 6 is a sketch without numbers. The devices are assumed: four Linux machines that compute a layer of 128 MiB in 27 ms (the fast one in 13 ms), read their disks at 2 GB/s or 500 MB/s, send activations in 2 ms, and have room for three and a half layers. Everything else is simulated, with the same event-by-event model as in every other experiment.';

export function summaryOf(claims: readonly Claim[]): string {
  const held = claims.filter(({ holds }) => holds).length;
  return `The six timelines of prima.cpp’s Fig. 6, simulated: pipeline parallelism (PP, one round) against the pipelined ring (PRP, four rounds), with and without prefetching, on equal and on different devices. ${held} of ${claims.length} things that the paper says of them hold here.`;
}

export function timelinesPage(
  results: readonly TimelineResult[],
  claims: readonly Claim[],
): NonNullable<Results['page']> {
  const panels = results.filter(({ key }) => key !== 'b, PP');
  const timelines = panels.map((result) => ({
    title: `(${result.key}) ${result.title}: ${formatSeconds(result.tokenSeconds)} per token`,
    note: whatToSee(results, result),
    trace: result.trace,
  }));
  return {
    title: 'Where a ring’s time goes',
    ...topOf(results, claims),
    sections: [
      {
        title: 'Seconds of a token',
        blocks: [
          {
            kind: 'chart',
            title: 'Time per token of each timeline',
            note: 'Letters are the panels of prima.cpp’s Fig. 6.',
            variants: [{ label: '', figure: tokenBars(results) }],
          },
        ],
      },
      {
        title: 'In numbers',
        blocks: [
          tableBlock(
            { columns: TIMELINES, rows: results },
            { title: 'Per token, seconds and bytes of all four devices together' },
          ),
          tableBlock({ columns: CLAIMS, rows: claims }, { title: 'What the paper says of Fig. 6, and what comes out' }),
          { kind: 'text', text: PROVENANCE },
        ],
      },
      { title: 'Timelines', blocks: [{ kind: 'text', text: HOW_TO_READ }, ...timelineBlocks(timelines)] },
    ],
  };
}

/** The sentence above the picture and the lines below it. */
function topOf(
  results: readonly TimelineResult[],
  claims: readonly Claim[],
): { readonly headline: string; readonly findings: readonly string[] } {
  const of = (key: TimelineResult['key']): TimelineResult => results.find((one) => one.key === key) as TimelineResult;
  const [a, b, d, e, f, reference] = [of('a'), of('b'), of('d'), of('e'), of('f'), of('b, PP')];
  const held = claims.filter(({ holds }) => holds).length;
  return {
    headline: `On four different devices, a token takes ${formatSeconds(f.tokenSeconds)} in a pipelined ring (PRP) whose windows match them, and ${formatSeconds(d.tokenSeconds)} in pipeline parallelism (PP).`,
    findings: [
      `${threeDigits(e.readBytes / d.readBytes)} × the bytes: PP with prefetching (e) compared with PP without (d); a token takes ${formatSeconds(e.tokenSeconds)} and ${formatSeconds(d.tokenSeconds)}.`,
      `${formatSeconds(b.stallSeconds)} of waiting for slow disks per token in PRP (b), ${formatSeconds(reference.stallSeconds)} in PP; with fast disks PRP waits ${formatSeconds(a.stallSeconds)} (a).`,
      `${held} of ${claims.length} statements of the paper about Fig. 6 hold here.`,
    ],
  };
}

/** Seconds per token of every timeline, in the order of the table, coloured by PP and PRP. */
function tokenBars(results: readonly TimelineResult[]): Figure {
  const rows = results.toReversed();
  const series = [
    { name: 'PP, one round', is: isPipeline, colour: colour(1) },
    { name: 'PRP, four rounds', is: (row: TimelineResult) => !isPipeline(row), colour: colour(0) },
  ];
  return barChart({
    horizontal: true,
    arrange: 'stack',
    categories: rows.map(({ key, title }) => `(${key}) ${title.replaceAll(', ', '<br>').replace(/^P[RP]*P<br>/, '')}`),
    categoryTitle: '',
    value: { title: 'seconds per token' },
    totals: rows.map(({ tokenSeconds }) => ` ${formatSeconds(tokenSeconds)}`),
    series: series.map((one) => ({
      name: one.name,
      colour: one.colour,
      values: rows.map((row) => (one.is(row) ? row.tokenSeconds : null)),
    })),
    height: 460,
  });
}

const isPipeline = ({ title }: TimelineResult): boolean => title.startsWith('PP');

/** The caption of a panel, with its own numbers. */
function whatToSee(results: readonly TimelineResult[], result: TimelineResult): string {
  const of = (key: TimelineResult['key']): TimelineResult => results.find((one) => one.key === key) as TimelineResult;
  const { tokenSeconds, stallSeconds, readBytes, idleSeconds } = result;
  const against = (other: TimelineResult): string =>
    `${threeDigits(tokenSeconds / other.tokenSeconds)} times the TPOT of (${other.key})`;
  switch (result.key) {
    case 'a':
      return `Look for hatching: computations wait ${formatSeconds(stallSeconds)} per token for the disk, although ${formatBytes(readBytes)} are read; green fills the time in which other devices compute.`;
    case 'b':
      return `Look at one device: disk and processor alternate, and ${formatSeconds(idleSeconds)} of a token is white; computations wait for what prefetching doesn’t hide, ${formatSeconds(stallSeconds)} per token against ${formatSeconds(of('b, PP').stallSeconds)} in PP without prefetching.`;
    case 'c':
      return `Look at device 4: all devices wait for its slow disk, ${formatSeconds(stallSeconds)} per token in all; the other disks finish long before, and ${formatSeconds(idleSeconds)} of white remain.`;
    case 'd':
      return `Look at the stairs: one device after the other reads all its layers while the token waits, ${formatPercent(stallSeconds / tokenSeconds)} of the time.`;
    case 'e':
      return `Look at green and orange on every disk: each layer is prefetched, evicted for a later one, and read again: ${threeDigits(readBytes / of('d').readBytes)} times the bytes of (d), ${against(of('d'))}.`;
    case 'f':
      return `Look at device 4 again: with half the layers it waits less than in (c), ${formatSeconds(stallSeconds)} per token, and less is white: ${formatSeconds(idleSeconds)}; ${against(of('c'))}.`;
    case 'b, PP':
      return `Vanilla PP on the devices of (b): computations wait ${formatSeconds(stallSeconds)} per token.`;
  }
}
