import { formatPercent } from '../../engine/input/format.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { type InterferenceRow, WAYS } from './sweep.ts';

export const INTERFERENCE_COLUMNS: readonly Column<InterferenceRow>[] = [
  { key: 'way', title: 'way', value: ({ way }) => way, label: true },
  {
    key: 'frame',
    title: 'frame (ms)',
    value: ({ frame }) => frame,
    text: ({ frame }) => (1000 * frame).toFixed(1),
    align: 'right',
  },
  {
    key: 'alone',
    title: 'alone (tok/s)',
    value: ({ alone }) => alone,
    text: ({ alone }) => alone.toFixed(1),
    align: 'right',
  },
  {
    key: 'beside',
    title: 'with game (tok/s)',
    value: ({ beside }) => beside,
    text: ({ beside }) => beside.toFixed(1),
    align: 'right',
  },
  {
    key: 'lost',
    title: 'lost',
    value: ({ lost }) => lost,
    text: ({ lost }) => `${(100 * lost).toFixed(1)} %`,
    align: 'right',
  },
  {
    key: 'frameRate',
    title: 'frames per second',
    value: ({ frameRate }) => frameRate,
    text: ({ frameRate }) => frameRate.toFixed(1),
    align: 'right',
  },
];

/** Shares of the prompt's speed that are lost, as §5.5 prints them. */
const PRINTED_LOSS: Readonly<Partial<Record<string, number>>> = { 'Hetero-layer': 0.0957, 'Hetero-tensor': 0.0726 };

/** The sentence above the picture, and a line for each system, at the longest frame. */
function topOf(rows: readonly InterferenceRow[]): { readonly headline: string; readonly findings: readonly string[] } {
  const longest = Math.max(...rows.map(({ frame }) => frame));
  const at = rows.filter(({ frame }) => frame === longest).sort((one, other) => one.lost - other.lost);
  const frame = `${(1000 * longest).toFixed(1)} ms`;
  const [least, most] = [at[0], at.at(-1)];
  return {
    headline: `Next to a game whose frames take ${frame} of the GPU, a prompt loses ${formatPercent(least?.lost ?? 0)} of its speed with ${least?.way} and ${formatPercent(most?.lost ?? 0)} with ${most?.way}.`,
    findings: at.map(({ way, frameRate }) => `${frameRate.toFixed(0)} frames per second during the prompt: ${way}.`),
  };
}

export function interferencePage(rows: readonly InterferenceRow[]): NonNullable<Results['page']> {
  const chart = (title: string, note: string, figure: Figure) => ({
    kind: 'chart' as const,
    title,
    note,
    variants: [{ label: title, figure }],
  });
  return {
    title: 'A prompt next to a game',
    ...topOf(rows),
    sections: [
      {
        title: 'Figures',
        blocks: [
          chart(
            'What the prompt loses',
            'Dotted: what the paper prints for Hetero-layer (9.57 %) and Hetero-tensor (7.26 %). No time of a frame gives both.',
            lineChart({
              x: { title: 'GPU time of a frame (ms)' },
              y: { title: 'speed lost (%)' },
              series: WAYS.flatMap(([way], index) => {
                const own = rows.filter((row) => row.way === way);
                const x = own.map(({ frame }) => 1000 * frame);
                const printed = PRINTED_LOSS[way];
                const line = { name: way, x, y: own.map(({ lost }) => 100 * lost), colour: colour(index) };
                if (printed === undefined) return [line];
                const level = x.map(() => 100 * printed);
                return [
                  line,
                  {
                    name: `${way}, published`,
                    x,
                    y: level,
                    colour: colour(index),
                    mode: 'lines' as const,
                    dash: 'dot' as const,
                  },
                ];
              }),
            }),
          ),
          chart(
            'What the game loses',
            'Frames per second while the prompt is processed; the display shows 60. Published: 60, 60 and 0 for PPL-OpenCL.',
            lineChart({
              x: { title: 'GPU time of a frame (ms)' },
              y: { title: 'frames per second' },
              series: WAYS.map(([way], index) => {
                const own = rows.filter((row) => row.way === way);
                return {
                  name: way,
                  x: own.map(({ frame }) => 1000 * frame),
                  y: own.map(({ frameRate }) => frameRate),
                  colour: colour(index),
                };
              }),
            }),
          ),
        ],
      },
      { title: 'All runs', blocks: [tableBlock({ columns: INTERFERENCE_COLUMNS, rows })] },
    ],
  };
}
