import type { MeasuredRun } from '../../datasets/measured.ts';
import { formatDeviation, threeDigits } from '../../engine/input/format.ts';
import type { MeasuredCells } from '../lab/experiment.ts';
import { probesSection } from '../lab/report.ts';
import { barChart, type Figure } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Page, Section } from '../report/page/page.ts';
import { diskSeconds, type WayResult } from './comparison.ts';
import { isFitted, type ProgramAnswer } from './program.ts';

const gigabytes = (bytes: number): string => `${threeDigits(bytes / 1e9)} GB`;

const PROGRAM_COLUMNS: readonly Column<ProgramAnswer>[] = [
  { title: 'prima.cpp with', key: 'flags', value: ({ run }) => run.flags, text: ({ run }) => run.flags || 'no flag' },
  { title: 'k', key: 'rounds', value: ({ run }) => run.rounds, unit: 'count' },
  { title: 'TPOT', key: 'token_s', value: ({ run }) => run.tokenSeconds, unit: 'seconds' },
  {
    title: 'Hearth’s emulation',
    key: 'emulated_s',
    value: ({ emulated }) => emulated?.tokenSeconds,
    unit: 'seconds',
  },
  { title: 'simulated', key: 'simulated_s', value: ({ simulated }) => simulated.seconds, unit: 'seconds' },
  {
    title: 'error',
    key: 'simulated_over_measured',
    value: ({ run, simulated }) => simulated.seconds / run.tokenSeconds,
    text: ({ run, simulated }) =>
      `${formatDeviation(simulated.seconds / run.tokenSeconds)}${isFitted(run) ? ' *' : ''}`,
    align: 'right',
  },
  {
    title: 'read',
    key: 'read_bytes',
    value: ({ run }) => run.readBytes,
    text: ({ run }) => gigabytes(run.readBytes),
    align: 'right',
  },
  {
    title: 'simulated',
    key: 'simulated_read_bytes',
    value: ({ simulated }) => simulated.bytes,
    text: ({ simulated }) => gigabytes(simulated.bytes),
    align: 'right',
  },
];

/** Recorded runs of prima.cpp's own program next to their simulation. */
export function programTable(rows: readonly ProgramAnswer[]): Table<ProgramAnswer> {
  return { columns: PROGRAM_COLUMNS, rows };
}

/** Note below the table. */
export const PROGRAM_NOTE =
  'Measured once, with commit bdf9d8e: four ranks on one machine, 2.2 GB in F16, 343 MB of memory each, disks of 200 MB/s. * an inferred value was chosen with this row.';

/** @param runs recorded runs of the program */
const columnsOf = (runs: readonly MeasuredRun[]): readonly Column<WayResult>[] => [
  { title: 'way', value: ({ way }) => way.name, label: true },
  { title: 'of', value: ({ way }) => way.of },
  { title: 'TPOT', value: ({ result }) => result.measured.seconds, unit: 'seconds' },
  { title: 'simulated', value: ({ result }) => result.simulated.seconds, unit: 'seconds' },
  {
    title: 'error',
    value: ({ result: { simulated, measured } }) => simulated.seconds / measured.seconds,
    unit: 'deviation',
  },
  {
    title: 'the program itself',
    value: ({ way }) =>
      runs.find(
        ({ program, prefetch, rounds }) =>
          program === 'prima.cpp' && prefetch === way.program?.prefetch && rounds === way.program.rounds,
      )?.tokenSeconds,
    unit: 'seconds',
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

/** Each way with its time per token, those of the program and of the prototype, and that of the disks alone. */
export function wayTable(rows: readonly WayResult[], runs: readonly MeasuredRun[]): Table<WayResult> {
  return { columns: columnsOf(runs), rows };
}

export function versusPrimaPage(
  measured: MeasuredCells,
  results: readonly WayResult[],
  program: readonly ProgramAnswer[],
): Pick<Page, 'title' | 'sections'> {
  return {
    title: 'Four devices that hold 62 % of their weights: three ways',
    sections: [
      programSection(program),
      {
        title: 'Time per token',
        blocks: [
          {
            kind: 'chart',
            title: 'The same cluster, memory and model under each way',
            note: 'The prototype was a C program that summed bytes in place of computing: 1 GiB of weights on each device, the same share of it in memory, disks of 400 MB/s.',
            variants: [{ label: 'TPOT', figure: bars(results) }],
          },
          tableBlock(
            wayTable(
              results,
              program.map(({ run }) => run),
            ),
          ),
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

/** The page without a lab. */
export function programPage(program: readonly ProgramAnswer[]): Pick<Page, 'title' | 'sections'> {
  return { title: 'prima.cpp’s program with weights that don’t fit', sections: [programSection(program)] };
}

function programSection(program: readonly ProgramAnswer[]): Section {
  return {
    title: 'prima.cpp’s own program',
    blocks: [
      tableBlock(programTable(program), { title: 'Recorded runs, and the simulation of what the program does' }),
      { kind: 'text', text: PROGRAM_NOTE },
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
      { name: 'C prototype', colour: colour(7), values: results.map(({ way }) => way.prototypeSeconds ?? null) },
    ],
  });
}
