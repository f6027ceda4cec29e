import { wrapText } from '../../engine/terminal/table.ts';
import { writeFiles } from '../lib/write.ts';
import type { LabOptions } from './options.ts';

/** What an experiment on a lab has found out, as it is written and printed. */
export interface LabResults {
  readonly subtitle: string;
  /** For the terminal. */
  readonly table: string;
  readonly findings: string;
  /** A page. */
  readonly report: string;
  /** Name of the file of all results, and what is in it. */
  readonly json: readonly [string, string];
  /** More files, by name. */
  readonly more?: readonly (readonly [string, string])[];
}

const WIDTH = 118;

/** Writes the report, the results as JSON and what else there is; prints the table, or the JSON. */
export function publishResults({ out, json: asJson }: LabOptions, results: LabResults): void {
  const { subtitle, table, findings, report, json, more = [] } = results;
  writeFiles(out, new Map([['report.html', report], json, ...more]));
  const text = `${subtitle}\n\n${table}\n${wrapText(findings, WIDTH).join('\n')}\n\nReport: ${out}/report.html\n`;
  process.stdout.write(asJson ? json[1] : text);
}
