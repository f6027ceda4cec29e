import { formatBytes, formatPercent, threeDigits } from '../../../engine/input/format.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import type { Cell, Spread } from './cell.ts';
import { disciplineName } from './contest.ts';
import type { MemoryUse } from './memory-use.ts';

/** Memory of one engine with one model. */
export interface MemoryOf {
  readonly engine: string;
  readonly type: string;
  readonly threads: number;
  /** Memory of the process before the engine was loaded. */
  readonly before: MemoryUse;
  readonly memory: MemoryUse;
}

/** The table of tokens per second, with columns for each peer. */
export function speedTable(cells: readonly Cell[]): string {
  const names = [...new Set(cells.flatMap(({ peers }) => peers.map(({ name }) => name)))];
  const right = (title: string) => ({ title, align: 'right' as const });
  return formatTable(
    [
      { title: 'weights' },
      right('threads'),
      { title: 'what' },
      right('Hearth\ntokens/s'),
      right('reaches'),
      right('of the\nlimit'),
      right('share'),
      right('processor\ntime'),
      ...names.flatMap((name) => [
        right(`${name}\ntokens/s`),
        right('share of\nthe limit'),
        right('Hearth’s ratio\n(quartiles)'),
      ]),
    ],
    cells.map((cell) => [
      cell.type,
      String(cell.threads),
      disciplineName(cell),
      threeDigits(cell.hearth),
      rateText(cell.kind, cell.rate),
      rateText(cell.kind, cell.limit),
      formatPercent(cell.share.median),
      formatPercent(cell.processorShare),
      ...names.flatMap((name) => {
        const peer = cell.peers.find((each) => each.name === name);
        if (peer === undefined) return ['–', '–', '–'];
        return [threeDigits(peer.tokensPerSecond), formatPercent(peer.share.median), ratioText(peer.ratio)];
      }),
    ]),
  );
}

/** The table of peak memory. */
export function memoryTable(uses: readonly MemoryOf[]): string {
  const other = (use: MemoryOf): MemoryOf | undefined =>
    uses.find(({ engine, type, threads }) => engine !== use.engine && type === use.type && threads === use.threads);
  return formatTable(
    [
      { title: 'weights' },
      { title: 'threads', align: 'right' },
      { title: 'engine' },
      { title: 'peak', align: 'right' },
      { title: 'of which\nfiles', align: 'right' },
      { title: 'anonymous', align: 'right' },
      { title: 'peak before\nloading', align: 'right' },
      { title: 'peak against\nnode-llama-cpp', align: 'right' },
    ],
    uses.map((use) => {
      const { engine, type, threads, before, memory } = use;
      const against = engine === 'Hearth' ? other(use) : undefined;
      return [
        type,
        String(threads),
        engine,
        formatBytes(memory.peak),
        formatBytes(memory.file),
        formatBytes(memory.anonymous),
        formatBytes(before.peak),
        against === undefined ? '' : threeDigits(memory.peak / against.memory.peak),
      ];
    }),
  );
}

function ratioText({ median, lower, upper }: Spread): string {
  return `${median.toFixed(2)} (${lower.toFixed(2)}–${upper.toFixed(2)})`;
}

function rateText(kind: Cell['kind'], perSecond: number): string {
  return `${threeDigits(perSecond / 1e9)} ${kind === 'prefill' ? 'Gop/s' : 'GB/s'}`;
}
