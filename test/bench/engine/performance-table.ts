import { threeDigits } from '../../../engine/input/format.ts';
import type { Cell, Spread } from './cell.ts';
import { disciplineName } from './contest.ts';

/** The output of `npm run bench:engine -- --json`. */
export interface RecordedBench {
  readonly model: string;
  /** The processor's name, as the operating system has it. */
  readonly processor: string;
  /** Load average of the minute before. */
  readonly load: number;
  readonly engines: readonly string[];
  readonly cells: readonly Cell[];
}

/** The folder of the runs that docs/measurements/performance.md shows: NAME.json, in the table marked "NAME". */
export const RECORDED = 'test/bench/engine/recorded';

/** The figures of docs/measurements/performance.md, in Markdown: what ran, and a table with columns for each peer. */
export function performanceTable({ model, processor, load, engines, cells }: RecordedBench): string {
  const names = [...new Set(cells.flatMap(({ peers }) => peers.map(({ name }) => name)))];
  const rounds = Math.min(...cells.map((cell) => cell.rounds));
  const header = [
    ...['weights', 'threads', 'what', 'Hearth, tokens/s', 'share of the limit'],
    ...names.flatMap((name) => [`${name}, tokens/s`, 'share of the limit', 'Hearth’s ratio (quartiles)']),
  ];
  const rows = cells.map((cell) => [
    ...[cell.type, String(cell.threads), disciplineName(cell), threeDigits(cell.hearth), shareText(cell.share)],
    ...names.flatMap((name) => {
      const peer = cell.peers.find((each) => each.name === name);
      if (peer === undefined) return ['–', '–', '–'];
      return [threeDigits(peer.tokensPerSecond), shareText(peer.share), ratioText(peer.ratio)];
    }),
  ]);
  const line = (items: readonly string[]): string => `| ${items.join(' | ')} |`;
  const ruler = line(header.map((_, column) => (column === 0 || column === 2 ? '---' : '---:')));
  return `- ${model}, random weights
${engines.map((engine) => `- ${engine}`).join('\n')}
- ${processor}; load average before the run: ${load.toFixed(2)}; at least ${rounds} rounds

${[line(header), ruler, ...rows.map(line)].join('\n')}
`;
}

function shareText({ median }: Spread): string {
  return `${(100 * median).toFixed(0)} %`;
}

function ratioText({ median, lower, upper }: Spread): string {
  return `${median.toFixed(2)} (${lower.toFixed(2)}–${upper.toFixed(2)})`;
}
