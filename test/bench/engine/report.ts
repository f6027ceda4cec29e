import { formatBytes, formatPercent, threeDigits } from '../../../engine/terminal/format.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import type { Cell } from './cell.ts';
import type { MemoryUse } from './memory-use.ts';

/** What one engine held in RAM with one model. */
export interface MemoryOf {
  readonly engine: 'Hearth' | 'llama.cpp';
  readonly type: string;
  readonly threads: number;
  /** Of the process before it loaded the engine. */
  readonly before: MemoryUse;
  readonly memory: MemoryUse;
}

/** Tokens per second side by side. */
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
      { title: 'of what the\nmachine can', align: 'right' },
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

/** Peaks of memory side by side. */
export function memoryTable(uses: readonly MemoryOf[]): string {
  const other = (use: MemoryOf): MemoryOf | undefined =>
    uses.find(({ engine, type, threads }) => engine !== use.engine && type === use.type && threads === use.threads);
  return formatTable(
    [
      { title: 'weights' },
      { title: 'threads', align: 'right' },
      { title: 'engine' },
      { title: 'peak', align: 'right' },
      { title: 'then of\nfiles', align: 'right' },
      { title: 'its own', align: 'right' },
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
