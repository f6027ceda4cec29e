import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { threeDigits } from '../../../engine/input/format.ts';

interface PeerCell {
  readonly readAhead: number;
  readonly engine: string;
  readonly tokenSeconds: { readonly median: number; readonly least: number; readonly most: number };
  readonly timesHearth: { readonly median: number; readonly least: number; readonly most: number };
}

const { cells } = JSON.parse(readFileSync('datasets/measured/expert-peers.json', 'utf8')) as { cells: PeerCell[] };
const page = readFileSync('docs/measurements/experts.md', 'utf8');

test('the page has each engine’s seconds at each read-ahead, as they were measured', () => {
  const lines = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  for (const { readAhead, engine, tokenSeconds, timesHearth } of cells) {
    const spread = ({ median, least, most }: PeerCell['tokenSeconds']): string =>
      `${threeDigits(median)} (${threeDigits(least)} to ${threeDigits(most)})`;
    const times = engine === 'Hearth' ? '' : spread(timesHearth);
    const row = [`${readAhead}`, engine, spread(tokenSeconds), times];
    assert.ok(
      lines.some((line) => line.slice(1, -1).join('|') === row.join('|')),
      `| ${row.join(' | ')} |`,
    );
  }
});

test.run();
