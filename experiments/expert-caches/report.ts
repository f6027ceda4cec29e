import { formatPercent } from '../../engine/input/format.ts';
import { lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { type CacheRow, POLICIES, type PolicyName } from './replay.ts';

const TITLES: Readonly<Record<PolicyName, string>> = {
  lru: 'LRU',
  lfu: 'LFU',
  slru: 'SLRU',
  lfru: 'LFRU',
  pinned: 'pinned',
  random: 'random',
  belady: 'Belady',
};

const rate = (title: string, key: string, value: (row: CacheRow) => number): Column<CacheRow> => ({
  title,
  key,
  value,
  text: (row) => `${(100 * value(row)).toFixed(1)} %`,
  align: 'right',
});

export const CACHE_COLUMNS: readonly Column<CacheRow>[] = [
  { title: 'slots', key: 'slots', value: ({ slots }) => slots, unit: 'count' },
  ...POLICIES.map((name) => rate(TITLES[name], name, ({ hits }) => hits[name])),
  rate('LRU,\nexpected', 'lru_expected', ({ expected }) => expected.lru),
  rate('without\nrecurrence', 'lru_independent', ({ expected }) => expected.independent),
  rate('pinned,\nexpected', 'pinned_expected', ({ expected }) => expected.pinned),
];

/** The sentence above the picture, for the fewest and the most slots, and the lines below it for the middle. */
function topOf(rows: readonly CacheRow[]): { readonly headline: string; readonly findings: readonly string[] } {
  const ordered = rows.toSorted((one, other) => one.slots - other.slots);
  const [fewest, most, middle] = [ordered[0], ordered.at(-1), ordered[Math.floor(ordered.length / 2)]];
  const lru = (row: CacheRow | undefined): string => formatPercent(row?.hits.lru ?? 0);
  const hits = middle?.hits;
  return {
    headline: `With ${fewest?.slots} slots for a layer’s experts, LRU has ${lru(fewest)} of those that tokens need; with ${most?.slots}, ${lru(most)}.`,
    findings: [
      `${formatPercent(hits?.belady ?? 0)} hits at most with ${middle?.slots} slots (Belady, who knows the future); LRU has ${lru(middle)}.`,
      `${formatPercent(middle?.expected.lru ?? 0)} is what the closed form expects there of LRU, and ${formatPercent(middle?.expected.independent ?? 0)} without recurrence.`,
      `${formatPercent(hits?.pinned ?? 0)} hits there if the most popular experts are pinned.`,
    ],
  };
}

export function expertCachesPage(rows: readonly CacheRow[]): NonNullable<Results['page']> {
  const x = rows.map(({ slots }) => slots);
  const shown: readonly [title: string, value: (row: CacheRow) => number, dash?: 'dot'][] = [
    ['Belady', ({ hits }) => hits.belady],
    ['LRU', ({ hits }) => hits.lru],
    ['LRU, expected', ({ expected }) => expected.lru, 'dot'],
    ['pinned', ({ hits }) => hits.pinned],
    ['without recurrence', ({ expected }) => expected.independent, 'dot'],
  ];
  const figure = lineChart({
    x: { title: 'slots for a layer’s experts' },
    y: { title: 'hits (%)' },
    series: shown.map(([name, value, dash], index) => ({
      ...{ name, x, y: rows.map((row) => 100 * value(row)), colour: colour(index) },
      ...(dash !== undefined && { dash }),
    })),
  });
  return {
    title: 'What a cache of experts hits',
    ...topOf(rows),
    sections: [
      {
        title: 'Hits by slots',
        blocks: [
          {
            kind: 'chart' as const,
            title: 'Experts that are in memory when a token needs them',
            note: 'Replayed on the second half of the routing. Dotted: expected from the first half, with the recurrence of experts and without it.',
            variants: [{ label: 'hits', figure }],
          },
        ],
      },
      { title: 'All policies', blocks: [tableBlock({ columns: CACHE_COLUMNS, rows })] },
    ],
  };
}
