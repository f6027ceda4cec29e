import { formatBytes, formatPercent, threeDigits } from '../../../engine/input/format.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import type { Cell } from './cell.ts';
import type { MemoryUse } from './memory-use.ts';

/** Memory of one engine with one model. */
export interface MemoryOf {
  readonly engine: 'Hearth' | 'llama.cpp';
  readonly type: string;
  readonly threads: number;
  /** Memory of the process before the engine was loaded. */
  readonly before: MemoryUse;
  readonly memory: MemoryUse;
}

/** The table of tokens per second. */
export function speedTable(cells: readonly Cell[]): string {
  return formatTable(
    [
      { title: 'weights' },
      { title: 'threads', align: 'right' },
      { title: 'what' },
      { title: 'Hearth\ntokens/s', align: 'right' },
      { title: 'llama.cpp\ntokens/s', align: 'right' },
      { title: 'ratio\n(least–most)', align: 'right' },
      { title: 'Hearth\nreaches', align: 'right' },
      { title: 'of the\nlimit', align: 'right' },
      { title: 'share', align: 'right' },
      { title: 'processor\ntime', align: 'right' },
    ],
    cells.map((cell) => [
      cell.type,
      String(cell.threads),
      `${cell.kind} ${cell.tokens}`,
      threeDigits(cell.hearth),
      cell.llama === undefined ? '–' : threeDigits(cell.llama),
      ratioText(cell),
      rateText(cell.kind, cell.rate),
      rateText(cell.kind, cell.limit),
      formatPercent(cell.rate / cell.limit),
      formatPercent(cell.processorShare),
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
      { title: 'peak against\nllama.cpp', align: 'right' },
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

function ratioText({ ratio }: Cell): string {
  if (ratio === undefined) return '–';
  return `${ratio.median.toFixed(2)} (${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)})`;
}

function rateText(kind: Cell['kind'], perSecond: number): string {
  return `${threeDigits(perSecond / 1e9)} ${kind === 'decode' ? 'GB/s' : 'Gop/s'}`;
}
