import type { Data } from 'plotly.js-dist-min';
import type { Figure } from '../charts/chart.ts';
import { toCsv } from '../csv.ts';

type Drawn = number | string | null;

/** Data that a trace draws, in Plotly's form. */
interface DrawnTrace {
  readonly name?: string;
  readonly showlegend?: boolean;
  readonly x?: readonly Drawn[];
  readonly y?: readonly Drawn[];
  readonly z?: readonly (readonly Drawn[])[];
  readonly base?: Drawn | readonly Drawn[];
}

/**
 * Data of a figure as CSV, a row for each mark: the series' name, x and y, and where a figure has them the start
 * of a bar (`base`) and the value of a cell (`z`). Gaps are left out.
 */
export function figureCsv({ data }: Figure): string {
  const traces = data.map((trace: Data) => trace as DrawnTrace);
  const has = { base: traces.some(({ base }) => base !== undefined), z: traces.some(({ z }) => z !== undefined) };
  const rows = traces.flatMap((trace) =>
    marksOf(trace).map(({ x, y, base, z }) => [
      trace.name ?? '',
      x,
      y,
      ...(has.base ? [base] : []),
      ...(has.z ? [z] : []),
    ]),
  );
  return toCsv(
    ['series', 'x', 'y', ...(has.base ? ['base'] : []), ...(has.z ? ['z'] : [])],
    rows.map((row) =>
      row.map((value) => (typeof value === 'string' ? value.replaceAll('<br>', ' ') : (value ?? undefined))),
    ),
  );
}

interface Mark {
  readonly x: Drawn | undefined;
  readonly y: Drawn | undefined;
  readonly base?: Drawn | undefined;
  readonly z?: Drawn | undefined;
}

function marksOf({ x = [], y = [], z, base }: DrawnTrace): Mark[] {
  if (z !== undefined)
    return z.flatMap((row, at) => row.map((value, index) => ({ x: x[index] ?? index, y: y[at] ?? at, z: value })));
  return Array.from(
    { length: Math.max(x.length, y.length) },
    (_, at): Mark => ({
      ...{ x: x[at], y: y[at] },
      base: typeof base === 'object' && base !== null ? base[at] : (base ?? undefined),
    }),
  ).filter((mark) => mark.x !== null && mark.x !== undefined && mark.y !== null && mark.y !== undefined);
}
