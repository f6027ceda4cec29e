import type { MeasuredCells } from '../lab/experiment.ts';
import { probesSection } from '../lab/report.ts';
import { barChart, colour, type Figure } from '../report/charts/chart.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Page } from '../report/page/page.ts';
import { diskSeconds, type WayResult } from './comparison.ts';

const COLUMNS: readonly Column<WayResult>[] = [
  { title: 'way', value: ({ way }) => way.name, label: true },
  { title: 'of', value: ({ way }) => way.of },
  { title: 'TPOT', value: ({ result }) => result.measured.seconds, unit: 'seconds' },
  { title: 'simulated', value: ({ result }) => result.simulated.seconds, unit: 'seconds' },
  {
    title: 'error',
    value: ({ result: { simulated, measured } }) => simulated.seconds / measured.seconds,
    unit: 'deviation',
  },
  { title: 'prototype', value: ({ way }) => way.prototypeSeconds, unit: 'seconds' },
  {
    title: 'read per token and device',
    value: ({ result: { measured, diskRates } }) => measured.bytes / diskRates.length,
    unit: 'bytes',
  },
  { title: 'R/d', value: ({ result }) => diskSeconds(result), unit: 'seconds' },
  { title: 'over R/d', value: ({ result }) => result.measured.seconds / diskSeconds(result), unit: 'deviation' },
];

/** Each way with its time per token, the prototype's, and that of the disks alone. */
export function wayTable(rows: readonly WayResult[]): Table<WayResult> {
  return { columns: COLUMNS, rows };
}

export function versusPrimaPage(
  measured: MeasuredCells,
  results: readonly WayResult[],
): Pick<Page, 'title' | 'sections'> {
  return {
    title: 'Four devices that hold 62 % of their weights: three ways',
    sections: [
      {
        title: 'Time per token',
        blocks: [
          {
            kind: 'chart',
            title: 'The same cluster, memory and model under each way',
            note: 'The prototype was a C program that summed bytes in place of computing: 1 GiB of weights on each device, the same share of it in memory, disks of 400 MB/s.',
            variants: [{ label: 'TPOT', figure: bars(results) }],
          },
          tableBlock(wayTable(results)),
          {
            kind: 'text',
            text: 'R/d is the time that a device’s disk takes for the bytes that it reads for a token. Without prefetching, devices read one after another, and a token takes R/d times the number of devices; where each device reads while the others compute, a token takes R/d.',
          },
        ],
      },
      probesSection(measured, measured.results),
    ],
  };
}

function bars(results: readonly WayResult[]): Figure {
  const values = (pick: (one: WayResult) => number): number[] => results.map(pick);
  return barChart({
    categories: results.map(({ way }) => `${way.of}: ${way.name}`),
    categoryTitle: '',
    value: { title: 'TPOT (s per token)' },
    arrange: 'group',
    horizontal: true,
    height: 380,
    series: [
      { name: 'measured', colour: colour(0), values: values(({ result }) => result.measured.seconds) },
      { name: 'simulated', colour: colour(0), hatched: true, values: values(({ result }) => result.simulated.seconds) },
      { name: 'C prototype', colour: colour(7), values: values(({ way }) => way.prototypeSeconds) },
    ],
  });
}
