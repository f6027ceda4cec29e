import { formatBytes, formatDeviation, formatSeconds } from '../../engine/terminal/format.ts';
import { probesSection } from '../lab/probes-section.ts';
import type { LabSession } from '../lab/session.ts';
import { barChart, colour, type Figure } from '../lib/chart.ts';
import type { Report, ReportColumn } from '../lib/report.ts';
import { diskSeconds, findings, type WayResult } from './comparison.ts';

const right = (title: string): ReportColumn => ({ title, align: 'right' });

export const WAY_COLUMNS: readonly ReportColumn[] = [
  { title: 'way', label: true },
  { title: 'of' },
  right('TPOT'),
  right('simulated'),
  right('error'),
  right('prototype'),
  right('read per token and device'),
  right('R/d'),
  right('over R/d'),
];

export function wayRow({ way, result }: WayResult): string[] {
  const { measured, simulated, diskRates } = result;
  return [
    way.name,
    way.of,
    formatSeconds(measured.seconds),
    formatSeconds(simulated.seconds),
    formatDeviation(simulated.seconds / measured.seconds),
    formatSeconds(way.prototypeSeconds),
    formatBytes(measured.bytes / diskRates.length),
    formatSeconds(diskSeconds(result)),
    formatDeviation(measured.seconds / diskSeconds(result)),
  ];
}

export function versusPrimaReport(session: LabSession, results: readonly WayResult[], subtitle: string): Report {
  return {
    title: 'Four devices that hold 62 % of their weights: three ways',
    subtitle,
    summary: findings(results),
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
          { kind: 'table', columns: WAY_COLUMNS, rows: results.map(wayRow) },
          {
            kind: 'text',
            text: 'R/d is what a device’s disk takes for the bytes that it reads for a token. Without prefetching, devices read one after another, so that a token takes as many times R/d as there are devices; where each reads while others compute, R/d is all that is left.',
          },
        ],
      },
      probesSection(
        session,
        results.map(({ result }) => result),
      ),
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
