/**
 * The design of every page: reports, lessons, planner and the server's page. Its colours each have a value on light pages
 * and on paper, and one on dark pages.
 */

type Pair = readonly [light: string, dark: string];

/** Colours by what they are for; CSS has each as a variable of that name: `var(--ink)`. */
export const COLOURS = {
  ink: ['#1f2933', '#e4e7eb'],
  soft: ['#52606d', '#a8b3bf'],
  page: ['#ffffff', '#16191d'],
  around: ['#f7f8fa', '#0f1114'],
  raised: ['#ffffff', '#1d2127'],
  tint: ['#f0f5fa', '#1d2630'],
  line: ['#e4e7eb', '#2f353c'],
  rule: ['#9aa5b1', '#7b8794'],
  accent: ['#0069a6', '#6cb8ea'],
  'on-accent': ['#ffffff', '#0f1114'],
  good: ['#dff3ea', '#173b2c'],
  fair: ['#fdf1d3', '#423610'],
  bad: ['#fbe0d6', '#4a261a'],
} as const satisfies Readonly<Record<string, Pair>>;

/**
 * Colours of series and parts: on light pages Okabe and Ito's (2008) without yellow, which is too light for lines on white,
 * then a violet and a grey. Readers of any kind of colour vision tell each pair apart.
 */
export const SERIES = [
  ['#0072B2', '#08a2ff'],
  ['#D55E00', '#dc6723'],
  ['#009E73', '#2f8a78'],
  ['#CC79A7', '#bb79b6'],
  ['#E69F00', '#fbc80d'],
  ['#56B4E9', '#d6f0ff'],
  ['#7B5675', '#8154b3'],
  ['#404040', '#bababa'],
] as const satisfies readonly Pair[];

/** Black or white, whichever is read better on a colour. @param colour as `#RRGGBB` */
export function textOn(colour: string): '#000000' | '#ffffff' {
  // Equal contrast with both (WCAG 2.2, relative luminance): (L + 0.05)² = 0.05 · 1.05.
  return luminance(colour) > 0.179 ? '#000000' : '#ffffff';
}

/** Relative luminance of a colour, 0 to 1 (WCAG 2.2). @param colour as `#RRGGBB` */
export function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => linear(Number.parseInt(colour.slice(at, at + 2), 16)));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** A channel of sRGB, 0 to 255, in linear light. */
function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** The fonts of all text; every system has one of them, so that no page loads a font. */
export const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** Declarations of all colours, light or dark. */
function declarations(which: 0 | 1): string {
  const named = Object.entries(COLOURS).map(([name, pair]) => `--${name}: ${pair[which]};`);
  const series = SERIES.map(
    (pair, index) => `--series-${index + 1}: ${pair[which]}; --on-series-${index + 1}: ${textOn(pair[which])};`,
  );
  return [...named, ...series].join(' ');
}

/**
 * The style that all pages share: type, colours, spacing and form controls, light or dark as the system is, and light on
 * paper. What one page alone needs stands in that page's own style.
 */
export const STYLE = `
:root { color-scheme: light dark; ${declarations(0)}
  --sans: ${SANS};
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --text-small: 0.8125rem; --text-less: 0.875rem; --text: 1rem; --text-more: 1.3125rem; --text-title: 1.875rem;
  --gap-xs: 0.25rem; --gap-s: 0.5rem; --gap: 1rem; --gap-l: 1.5rem; --gap-xl: 3rem;
  --corner: 6px; }
@media screen and (prefers-color-scheme: dark) { :root { ${declarations(1)} } }
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); font: var(--text) / 1.55 var(--sans); }
h1 { font-size: var(--text-title); line-height: 1.2; margin: 0 0 var(--gap-xs); letter-spacing: -0.01em; text-wrap: balance; }
h2 { font-size: var(--text-more); line-height: 1.3; margin: var(--gap-xl) 0 var(--gap-s); }
h3 { font-size: var(--text); margin: 1.75rem 0 var(--gap-xs); }
p { max-width: 86ch; margin: 0 0 0.75rem; }
a { color: var(--accent); text-decoration: underline; text-underline-offset: 0.15em; }
code, pre { font-family: var(--mono); font-size: 0.875em; }
figure { margin: var(--gap) 0 1.75rem; }
figcaption { font-weight: 600; font-size: var(--text); color: var(--ink); margin-bottom: var(--gap-xs); }
.note { color: var(--soft); font-size: var(--text-less); margin: 0 0 var(--gap-s); max-width: 100ch; }
table { border-collapse: collapse; width: 100%; font-size: var(--text-small); line-height: 1.4;
  font-family: var(--sans); font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: var(--text); padding: 0 0 var(--gap-s); }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--rule); vertical-align: bottom; }
th, td { padding: 4px 12px 4px 0; }
td, tbody th { border-bottom: 1px solid var(--line); vertical-align: top; color: var(--ink); }
button, select, textarea, input { font: inherit; color: var(--ink); accent-color: var(--accent); }
button, select, textarea, input:not([type=range], [type=checkbox], [type=radio]) { min-height: 2.125rem;
  padding: var(--gap-xs) 0.625rem; background: var(--raised); border: 1px solid var(--rule); border-radius: var(--corner); }
button { cursor: pointer; }
button:hover:not(:disabled), select:hover:not(:disabled) { border-color: var(--accent); color: var(--accent); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.main:hover:not(:disabled) { color: var(--on-accent); }
:disabled { opacity: 0.5; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
summary { cursor: pointer; }
.card { border: 1px solid var(--line); border-radius: var(--corner); background: var(--raised); padding: var(--gap-s) 0.75rem; }
.saves { display: inline-flex; flex-wrap: wrap; gap: var(--gap-xs); }
.saves button { min-height: 1.5rem; padding: 0 var(--gap-s); font-size: var(--text-small); color: var(--soft); }
.scroll { max-width: 100%; overflow-x: auto; background:
  linear-gradient(to right, var(--page) 30%, transparent) left / 40px 100%,
  linear-gradient(to left, var(--page) 30%, transparent) right / 40px 100%,
  linear-gradient(to right, var(--rule), transparent) left / 10px 100%,
  linear-gradient(to left, var(--rule), transparent) right / 10px 100%;
  background-attachment: local, local, scroll, scroll; background-repeat: no-repeat; }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
@media print { :root { color-scheme: light; } button { display: none; } }
`;
