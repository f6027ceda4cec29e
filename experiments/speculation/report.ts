import { formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { PageTop } from '../report/page-top.ts';
import { CALIBRATED_TOKENS, type PassTimes, type Place } from './machine.ts';
import type { SpeculationRow, SpeculationRun } from './run.ts';

const lengthText = ({ length, draftTokens }: SpeculationRow): string =>
  length === 'adaptive' ? `adaptive\u00a0(${draftTokens})` : String(length);

const COLUMNS: readonly Column<SpeculationRow>[] = [
  { title: 'Weights', key: 'weights', value: ({ place }) => place, label: true },
  { title: 'Drafts', key: 'source', value: ({ source }) => source, label: true },
  { title: 'α', key: 'acceptance_rate', value: ({ acceptanceRate }) => acceptanceRate, unit: 'share' },
  { title: 'σ', key: 'sure_rate', value: ({ sureRate }) => sureRate, unit: 'share' },
  { title: 'γ', key: 'drafted', value: ({ length }) => length, text: lengthText, align: 'right' },
  { key: 'planned_drafted', value: ({ draftTokens }) => draftTokens },
  { title: 'Tokens\na pass', key: 'pass_tokens', value: ({ passTokens }) => passTokens, unit: 'factor' },
  { title: 'TPOT', key: 'measured_seconds', value: ({ tokenSeconds }) => tokenSeconds.median, unit: 'seconds' },
  { title: 'Measured\ngain', key: 'measured_gain', value: ({ gain }) => gain.median, unit: 'factor' },
  {
    title: 'Spread',
    key: 'measured_spread',
    value: ({ gain }) => gain.spread,
    text: ({ gain }) => `± ${formatPercent(gain.spread)}`,
    align: 'right',
  },
  { title: 'Predicted', key: 'predicted_gain', value: ({ predictedGain }) => predictedGain, unit: 'factor' },
  { title: 'Simulated', key: 'simulated_gain', value: ({ simulatedGain }) => simulatedGain, unit: 'factor' },
  {
    title: 'Same\ntext',
    on: 'page',
    key: 'same_text',
    value: ({ isSame }) => isSame,
    text: ({ isSame }) => (isSame ? 'yes' : 'no'),
  },
];

export function speculationTable({ rows }: SpeculationRun): Table<SpeculationRow> {
  return { columns: COLUMNS, rows, groups: true };
}

/** Rows of one place and source. */
function groupsOf(rows: readonly SpeculationRow[]): SpeculationRow[][] {
  const groups = new Map<string, SpeculationRow[]>();
  for (const row of rows)
    groups.set(`${row.place}/${row.source}`, [...(groups.get(`${row.place}/${row.source}`) ?? []), row]);
  return [...groups.values()];
}

const IN_PLACE: Readonly<Record<Place, string>> = {
  RAM: 'with weights in RAM',
  streamed: 'with streamed weights',
  ring: 'on a lab ring that streams',
};

const PLACE_NAMES: Readonly<Record<Place, string>> = {
  RAM: 'Weights in RAM',
  streamed: 'Streamed weights',
  ring: 'A lab ring that streams',
};

/** The largest gain of all, and that of each place. */
export function speculationTop({ rows: all }: SpeculationRun): PageTop {
  const drafted = all.filter(({ length }) => length !== 0);
  const rows = drafted.length === 0 ? all : drafted;
  const best = (own: readonly SpeculationRow[]): SpeculationRow =>
    own.reduce((most, one) => (one.gain.median > most.gain.median ? one : most));
  const places = [...new Set(rows.map(({ place }) => place))].map((at) =>
    best(rows.filter(({ place }) => place === at)),
  );
  const most = best(rows);
  const drafts = ({ length, source }: SpeculationRow): string =>
    `${length === 'adaptive' ? 'adaptive' : length} drafted tokens (${source})`;
  return {
    headline: `Drafts make a text at most ${threeDigits(most.gain.median)} times as fast: ${drafts(most)}, ${IN_PLACE[most.place]}.`,
    findings: places.map((row) => {
      const said = row.predictedGain === undefined ? '' : `; predicted × ${threeDigits(row.predictedGain)}`;
      return `× ${threeDigits(row.gain.median)} at most ${IN_PLACE[row.place]}: ${drafts(row)}${said}.`;
    }),
  };
}

export function speculationFindings({ rows, passes }: SpeculationRun): string[] {
  const { RAM, streamed, ring } = passes;
  const timesOf = (where: string, { one, many }: PassTimes): string =>
    `A pass of one token takes ${formatSeconds(one)} ${where}, one of ${CALIBRATED_TOKENS} tokens ${threeDigits(many / one)} times as long.`;
  const times = [
    ...(RAM === undefined ? [] : [timesOf(IN_PLACE.RAM, RAM)]),
    ...(streamed === undefined ? [] : [timesOf(IN_PLACE.streamed, streamed)]),
    ...(ring === undefined ? [] : [timesOf(IN_PLACE.ring, ring)]),
  ];
  const sentences = groupsOf(rows).map((group) => {
    const [first] = group as [SpeculationRow];
    const fixed = group.filter(({ length }) => typeof length === 'number' && length > 0);
    const best = fixed.reduce((a, b) => (b.gain.median > a.gain.median ? b : a), fixed[0] ?? first);
    const adaptive = group.find(({ length }) => length === 'adaptive');
    const where = PLACE_NAMES[first.place];
    const parts = [
      ...(fixed.length > 0 ? [`the best fixed length, ${best.length}, gains ×${threeDigits(best.gain.median)}`] : []),
      ...(adaptive === undefined ? [] : [`adaptive drafts ×${threeDigits(adaptive.gain.median)}`]),
    ];
    return `${where}, ${first.source}: ${parts.join(', ')}.`;
  });
  const answered = rows.filter(
    ({ predictedGain, length }) => predictedGain !== undefined && typeof length === 'number' && length > 0,
  );
  const errors = (pick: (row: SpeculationRow) => number | undefined): number[] =>
    answered.map((row) => Math.abs((pick(row) as number) / row.gain.median - 1)).sort((a, b) => a - b);
  const sentence = (name: string, found: readonly number[]): string =>
    `${name} gains miss the measured ones by ${formatPercent(found[found.length >> 1] as number)} in the median, ${formatPercent(found.at(-1) as number)} at worst`;
  const judged =
    answered.length === 0
      ? []
      : [
          `${sentence(
            'Predicted',
            errors((row) => row.predictedGain),
          )}; ${sentence(
            'simulated',
            errors((row) => row.simulatedGain),
          )} (fixed lengths).`,
        ];
  const same = rows.filter(({ isSame }) => isSame).length;
  return [
    ...times,
    ...sentences,
    ...judged,
    `In ${same} of ${rows.length} cases every text is token for token the one without drafts.`,
  ];
}

const CALIBRATION =
  'Calibrated: the passes of one token and of nine in RAM, of one with streamed weights, and of one and nine on the ring; and ' +
  'a token of the draft, and its reading of a prompt: each measured by itself. ' +
  'Predicted is Leviathan et al. 2023 (Eq. 1 and Theorem 3.8) with the ring’s closed form for a verification, simulated is ' +
  'the same machine event by event, with drafts accepted at random. α and σ are those of these very texts, by drafts of one ' +
  'token; no time of a judged text was fitted to.';
const MEASUREMENT =
  'Every text with drafts is timed right after one without, and the gain is the ratio of the two; spread is half the range ' +
  'of the middle half. A stand-in knows the text and errs at random, so that its acceptance rate is known; its drafts cost ' +
  'nothing, as lookups do. Streamed weights are dropped from memory after each pass and come back by page faults.';

export function speculationPage(run: SpeculationRun): NonNullable<Results['page']> {
  const places = [...new Set(run.rows.map(({ place }) => place))];
  return {
    title: 'Speculative decoding: predicted, simulated, measured',
    ...speculationTop(run),
    sections: [
      {
        title: 'Gain by drafted tokens',
        blocks: [
          {
            kind: 'chart',
            title: 'TPOT without drafts over TPOT with them',
            note: 'Marks: measured. Lines: predicted; dots: simulated. Adaptive drafts are in the table.',
            choose: 'Weights',
            variants: places.map((place) => ({ label: place, figure: gains(run, place) })),
          },
          tableBlock(speculationTable(run), { title: 'Every case' }),
        ],
      },
      {
        title: 'What was measured, and how',
        blocks: [CALIBRATION, MEASUREMENT].map((text) => ({ kind: 'text' as const, text })),
      },
    ],
  };
}

function gains({ rows }: SpeculationRun, place: Place): Figure {
  const groups = groupsOf(rows.filter((row) => row.place === place));
  return lineChart({
    x: { title: 'drafted tokens γ' },
    y: { title: 'gain' },
    series: groups.flatMap((group, index) => {
      const own = group.filter(({ length }) => length !== 'adaptive');
      const x = own.map(({ length }) => Number(length));
      const name = group[0]?.source ?? '';
      const common = { x, colour: colour(index) };
      const line = (title: string, y: readonly (number | undefined)[]) => ({
        ...common,
        name: `${name}, ${title}`,
        y: y.map((value) => value ?? null),
      });
      return [
        {
          ...line(
            'measured',
            own.map(({ gain }) => gain.median),
          ),
          mode: 'markers' as const,
        },
        {
          ...line(
            'predicted',
            own.map(({ predictedGain }) => predictedGain),
          ),
          mode: 'lines' as const,
        },
        {
          ...line(
            'simulated',
            own.map(({ simulatedGain }) => simulatedGain),
          ),
          mode: 'lines' as const,
          dash: 'dot' as const,
        },
      ];
    }),
  });
}
