import { COLOURS, SANS, SERIES } from '../../engine/design/design.ts';

/** Colours on paper by the names that charts give them; `currentColor` is ink. */
const ON_PAPER: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(COLOURS).map(([name, [light]]) => [`--${name}`, light])),
  ...Object.fromEntries(SERIES.map(([light], index) => [`--series-${index + 1}`, light])),
  '--theme-foreground': COLOURS.ink[0],
  '--theme-foreground-focus': COLOURS.accent[0],
  '--plot-background': COLOURS.page[0],
};

/** Pixels of a PNG for each of the page's. */
const SHARPNESS = 3;

/** A chart as text of an SVG file, in the colours of paper. */
export function chartSvg(chart: SVGSVGElement): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const { width, height } = chart.viewBox.baseVal;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  copy.setAttribute('style', `background: ${COLOURS.page[0]}; color: ${COLOURS.ink[0]}; font: 10px ${SANS}`);
  return new XMLSerializer()
    .serializeToString(copy)
    .replace(/var\((--[\w-]+)(?:, *[^)]*)?\)/g, (found, name: string) => ON_PAPER[name] ?? found)
    .replaceAll(/currentColor/gi, COLOURS.ink[0]);
}

/** Saves a chart under a name; nothing leaves the page. */
export async function saveChart(chart: SVGSVGElement, name: string, format: 'svg' | 'png'): Promise<void> {
  const text = chartSvg(chart);
  const url = `data:image/svg+xml,${encodeURIComponent(text)}`;
  const link = document.createElement('a');
  link.href = format === 'svg' ? url : await pixels(url, chart.viewBox.baseVal);
  link.download = `${name}.${format}`;
  link.click();
}

async function pixels(
  url: string,
  { width, height }: { readonly width: number; readonly height: number },
): Promise<string> {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = SHARPNESS * width;
  canvas.height = SHARPNESS * height;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png');
}

/** A file's name from a page's title and a caption's first words. */
export function chartName(title: string, caption: string): string {
  const [first = ''] = caption.split(/[.:;]/);
  const words = `${title} ${first}`
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['chart'];
  return words.slice(0, MOST_WORDS).join('-');
}

const MOST_WORDS = 12;
