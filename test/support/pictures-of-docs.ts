import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from './run-script.ts';

/** A picture of README.md or docs/: charts of a report. */
export interface Picture {
  readonly file: string;
  /** The experiment that writes the report. */
  readonly script: string;
  readonly options?: readonly string[];
  /** How the titles of its charts begin. */
  readonly charts: readonly string[];
  /** Pixels. */
  readonly width: number;
  /** Pixels of all type, for a picture that is also read on a phone. */
  readonly type?: number;
}

export const PICTURES: readonly Picture[] = [
  {
    file: 'experiments/pictures/halda-sweep.png',
    script: 'experiments/halda-sweep.ts',
    charts: ['Tokens per second by model'],
    width: 640,
    type: 18,
  },
  {
    file: 'experiments/pictures/ring-timeline.png',
    script: 'experiments/ring-timelines.ts',
    charts: ['(e)', '(f)'],
    width: 1180,
  },
  {
    file: 'experiments/pictures/upgrades.png',
    script: 'experiments/upgrades.ts',
    options: ['--recorded'],
    charts: ['The upgrade that gains most'],
    width: 1180,
  },
  {
    file: 'experiments/pictures/sweep-capacity.png',
    script: 'experiments/sweep-capacity.ts',
    charts: ['Points per second by workers'],
    width: 1180,
  },
];

/** The fingerprints of the pictures' charts when they were drawn, by file. */
export const FINGERPRINTS = 'experiments/pictures/fingerprints.json';

/** Digits that are the same on every machine. */
const DIGITS = 5;

/**
 * Runs the experiment of a picture and takes the fingerprint of its charts' figures.
 * @param out the folder for the report
 */
export async function fingerprintOf({ script, options = [], charts }: Picture, out: string): Promise<string> {
  const { code, stderr } = await runHere(script, ...options, '--out', out);
  if (code !== 0) throw new Error(stderr);
  const html = readFileSync(join(out, 'report.html'), 'utf8');
  const figures = [
    ...html.matchAll(/<figcaption>(.*?)<\/figcaption>.*?<script type="application\/json">(.*?)<\/script>/gs),
  ];
  const hash = createHash('sha256');
  for (const begin of charts) {
    const [, , figure] = figures.find(([, title]) => title?.startsWith(begin)) ?? [];
    if (figure === undefined) throw new Error(`the report of ${script} has no chart "${begin}"`);
    const rounded = (_: string, value: unknown): unknown =>
      typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;
    hash.update(JSON.stringify(JSON.parse(figure), rounded));
  }
  return hash.digest('hex');
}
