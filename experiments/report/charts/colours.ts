import { COLOURS, SERIES } from '../../../engine/design/design.ts';

type LightOf<Pairs extends readonly (readonly [string, string])[]> = {
  readonly [Index in keyof Pairs]: Pairs[Index][0];
};

/** The series' colours on light pages, in which figures are written; the page exchanges them where it is dark. */
export const PALETTE = SERIES.map(([light]) => light) as unknown as LightOf<typeof SERIES>;

/** Text and marks, the page behind them, grid lines, and axes. */
export const INK = COLOURS.ink[0];
export const SURFACE = COLOURS.page[0];
export const GRID = COLOURS.line[0];
export const RULE = COLOURS.rule[0];
/** Marks about which nothing is claimed, and what is left when others are drawn. */
export const PALE = '#cbd2d9';

/** Replacements of a figure's colours on a dark page. */
export const DARK: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...SERIES, COLOURS.ink, COLOURS.page, COLOURS.line, COLOURS.rule]),
  [PALE]: '#4a525b',
};

/** Colour number `index` of the palette; it repeats after eight. */
export function colour(index: number): string {
  return PALETTE[index % PALETTE.length] as string;
}
