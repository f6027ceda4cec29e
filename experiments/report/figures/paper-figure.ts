import type { Data, Layout, LayoutAxis } from 'plotly.js-dist-min';
import type { Figure } from '../charts/chart.ts';

/** Widths of papers' columns, millimetres; IEEE's and ACM's two-column layouts come within 4 mm of them. */
export const COLUMNS = { 'one-column': 85, 'two-columns': 178 } as const;
export type ColumnName = keyof typeof COLUMNS;

/** CSS pixels of a millimetre (CSS Values 4: 96 to the inch), and of a typographic point. */
const MILLIMETRE = 96 / 25.4;
const POINT = 96 / 72;

/** Text in figures has the size of captions. */
const TEXT = 8 * POINT;
const SMALL = 7 * POINT;

/** Marks and lines of a report in those of a paper. */
const FINER = 0.6;

export interface PaperFigure extends Figure {
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
}

/** A figure of a report in the width of a paper's columns: smaller type, finer lines, the legend below. */
export function paperFigure({ data, layout }: Figure, column: ColumnName, font: string): PaperFigure {
  const width = Math.round(COLUMNS[column] * MILLIMETRE);
  const named = data.filter(
    (trace) => trace.name !== undefined && (trace as { showlegend?: boolean }).showlegend !== false,
  );
  const hasLegend = layout.showlegend !== false && named.length > 1;
  const letters = named.reduce((sum, { name = '' }) => sum + name.length + 8, 0);
  const rows = hasLegend ? Math.ceil((letters * SMALL * 0.6) / (width - 40)) + 1 : 0;
  const share = column === 'one-column' ? 0.5 : 0.65;
  const body = Math.max(Math.round((layout.height ?? 450) * share), labelsHeight(layout));
  const height = body + Math.round(rows * SMALL * 1.7);
  return {
    width,
    height,
    data: data.map(finer),
    layout: {
      ...layout,
      width,
      height,
      showlegend: hasLegend,
      font: { ...layout.font, family: font, size: TEXT },
      // Labels may stand above the drawing.
      margin: { l: 44, r: 6, t: (layout.annotations ?? []).length === 0 ? 8 : 18, b: 30 },
      legend: {
        ...{ orientation: 'h', x: 0, xanchor: 'left', y: 0, yref: 'container', yanchor: 'bottom' },
        ...{ traceorder: 'normal', font: { size: SMALL } },
      },
      ...axes(layout),
      ...(layout.annotations && {
        annotations: layout.annotations.map((one) => ({ ...one, font: { ...one.font, size: SMALL } })),
      }),
    } as Partial<Layout>,
  };
}

/** Pixels that the labels of a vertical axis with categories take, with the horizontal axis below them. */
function labelsHeight({ yaxis }: Partial<Layout>): number {
  const labels = Array.from<unknown, string>((yaxis?.categoryarray ?? []) as ArrayLike<unknown>, String);
  const lines = Math.max(0, ...labels.map((label) => label.split('<br>').length));
  return Math.ceil(labels.length * (lines + 0.4) * SMALL * 1.3) + 50;
}

/** All axes, with smaller type. */
function axes(layout: Partial<Layout>): Record<string, Partial<LayoutAxis>> {
  return Object.fromEntries(
    Object.entries(layout)
      .filter(([key]) => /^[xy]axis\d*$/.test(key))
      .map(([key, axis]: [string, Partial<LayoutAxis>]) => {
        const title = typeof axis.title === 'object' ? axis.title : undefined;
        return [
          key,
          {
            ...axis,
            tickfont: { size: SMALL },
            ...(title && { title: { ...title, standoff: 6, font: { size: TEXT } } }),
          },
        ];
      }),
  );
}

/** A trace with smaller marks and thinner lines. */
function finer(trace: Data): Data {
  const { marker, line } = trace as { marker?: { size?: unknown }; line?: { width?: number } };
  const scaled = (size: unknown): unknown =>
    typeof size === 'number' ? size * FINER : Array.isArray(size) ? size.map(scaled) : size;
  return {
    ...trace,
    ...(marker?.size !== undefined && { marker: { ...marker, size: scaled(marker.size) } }),
    ...(line?.width !== undefined && { line: { ...line, width: line.width * FINER } }),
  } as Data;
}
