import { MEMORY_REGIMES } from '../../datasets/random-cluster.ts';
import { formatPercent, threeDigits } from '../../engine/input/format.ts';
import { barChart, type Figure } from '../report/charts/chart.ts';
import { colour, PALE } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { type Answer, UPGRADES } from './homes.ts';
import type { UpgradeGroup } from './summary.ts';

const BOUGHT = UPGRADES.filter((name) => name !== 'none');

const COLUMNS: readonly Column<UpgradeGroup>[] = [
  { title: 'model', key: 'model', value: ({ model }) => model, label: true },
  { title: 'memory', key: 'memory', value: ({ regime }) => regime, label: true },
  { title: 'homes', key: 'homes', value: ({ homes }) => homes, unit: 'count' },
  ...UPGRADES.map(
    (name): Column<UpgradeGroup> => ({
      title: name === 'none' ? 'none\ngains 5 %' : `${name}\nfirst`,
      key: `first_${name}`,
      value: ({ first, homes }) => first[name] / homes,
      unit: 'share',
    }),
  ),
  { title: 'nothing\nruns', key: 'unrunnable', value: ({ unrunnable, homes }) => unrunnable / homes, unit: 'share' },
  ...BOUGHT.map(
    (name): Column<UpgradeGroup> => ({
      title: `${name}:\nmedian gain`,
      key: `median_gain_${name}`,
      value: ({ medianGain }) => (Number.isNaN(medianGain[name]) ? undefined : medianGain[name]),
      unit: 'factor',
    }),
  ),
];

export function upgradesTable(groups: readonly UpgradeGroup[]): Table<UpgradeGroup> {
  return { columns: COLUMNS, rows: groups, groups: true };
}

/** Memory in addition to the model: `scarce, 0.25–0.5`. */
function regimeText({ regime }: UpgradeGroup): string {
  const [low, high] = MEMORY_REGIMES[regime];
  return `${regime} (${low}–${high})`;
}

function firstChart(groups: readonly UpgradeGroup[]): Figure {
  return barChart({
    categories: groups.map((group) => `${group.model}<br>${regimeText(group)}`).reverse(),
    categoryTitle: '',
    value: { title: 'share of homes', range: [0, 1] },
    arrange: 'stack',
    horizontal: true,
    series: [...BOUGHT, 'none' as const].map((name, index) => ({
      name: name === 'none' ? 'none gains 5 %' : name,
      colour: name === 'none' ? PALE : colour(index),
      values: groups.map(({ first, homes }) => first[name] / homes).reverse(),
    })),
    height: 440,
  });
}

/** Homes by the upgrade that gains most, over all groups: the largest shares first. */
function mostGained(groups: readonly UpgradeGroup[]): { readonly name: string; readonly share: number }[] {
  const homes = groups.reduce((sum, group) => sum + group.homes, 0);
  return BOUGHT.map((name) => ({ name, share: groups.reduce((sum, { first }) => sum + first[name], 0) / homes })).sort(
    (one, other) => other.share - one.share,
  );
}

/** The group in which an upgrade is first most often, in a line. */
function whereFirst(name: (typeof BOUGHT)[number], groups: readonly UpgradeGroup[]): string {
  const share = ({ first, homes }: UpgradeGroup): number => first[name] / homes;
  const most = groups.reduce((one, other) => (share(other) > share(one) ? other : one));
  return `${formatPercent(share(most))} of homes gain most from ${WHAT[name]}: ${most.model}, memory ${most.regime} (median gain ×${threeDigits(most.medianGain[name])}).`;
}

const WHAT = { disk: 'a faster disk', memory: 'more memory', GPU: 'a larger GPU', links: 'faster links' } as const;

/** In each memory regime, the upgrade that most homes should make first. */
export function findingsOf(groups: readonly UpgradeGroup[]): string[] {
  return groups.map((group) => {
    const [best] = BOUGHT.toSorted((one, other) => group.first[other] - group.first[one]);
    if (best === undefined || group.homes === 0) return `${group.model}, memory ${group.regime}: no homes.`;
    const share = formatPercent(group.first[best] / group.homes);
    return `${group.model}, memory ${group.regime}: most often first is ${best} (${share} of homes; median gain ×${threeDigits(group.medianGain[best])}).`;
  });
}

export function upgradesPage(groups: readonly UpgradeGroup[], answer: Answer): NonNullable<Results['page']> {
  const counted = groups.filter(({ homes }) => homes > 0);
  const [most] = mostGained(counted);
  return {
    title: 'Which home clusters should upgrade what first?',
    ...(most !== undefined &&
      counted.length > 0 && {
        headline: `${WHAT[most.name as keyof typeof WHAT].replace(/^./, (letter) => letter.toUpperCase())} gains most for ${formatPercent(most.share)} of homes, more than any other upgrade; which one does depends on how much of the model fits in memory.`,
        findings: (['GPU', 'disk', 'memory'] as const).map((name) => whereFirst(name, counted)),
      }),
    sections: [
      {
        title: 'The first upgrade',
        blocks: [
          {
            kind: 'chart',
            title: 'The upgrade that gains most',
            variants: [{ label: '', figure: firstChart(groups) }],
          },
          {
            kind: 'text',
            text: `Random homes of two to four devices. One part is bought: a fast NVMe disk, twice the memory or the next larger GPU for the PC that gains most by it, or 2.5 Gbit/s links for all. Times are ${answer === 'predicted' ? 'closed-form predictions' : 'simulations'} of the best plan before and after, which is the optimum of the closed forms (prima.cpp Eq. 1, reclaim lru). Parts are soldered in phones and Apple’s machines; every PC takes what one of the catalogue takes: a laptop no card, and memory only where it isn’t soldered. Prices are not counted.`,
          },
          tableBlock(upgradesTable(groups)),
        ],
      },
    ],
  };
}
