import { formatBytes, formatPercent, formatSeconds, threeDigits } from '../input/format.ts';
import { QUANTIZATIONS, quantizedBytes } from '../model/quantization.ts';
import { formatTable } from '../terminal/table.ts';
import type { MachineProfile } from './profile-machine.ts';
import { type Sample, scaled } from './sample.ts';

/** The measurements as a table for terminals. */
export function profileTable({ memory, cpu, reading, cache, disk }: MachineProfile): string {
  const row = (what: string, value: string, { spread, repeats }: Sample): string[] => [
    what,
    value,
    `± ${formatPercent(spread)}`,
    String(repeats),
  ];
  const rates = (what: string, sample: Sample): string[] => row(what, rate(sample.median), sample);
  const products = [...cpu.vectorProducts].map(([type, vector]) => {
    const matrix = scaled(cpu.matrixProducts.get(type) as Sample, 2e-9, 'inverse');
    const { block } = QUANTIZATIONS[type];
    const read = quantizedBytes(block, type) / block / vector.median;
    return [
      type,
      threeDigits(2e-9 / vector.median),
      `± ${formatPercent(vector.spread)}`,
      threeDigits(read / 1e9),
      threeDigits(matrix.median),
      `± ${formatPercent(matrix.spread)}`,
    ];
  });
  const right = (title: string) => ({ title, align: 'right' as const });
  const first = formatTable(
    [{ title: 'What' }, right('Median'), right('Spread'), right('Repeats')],
    [
      ['memory, installed', formatBytes(memory.memory.total), '', ''],
      [`memory, available (${memory.rule})`, formatBytes(memory.memory.available), '', ''],
      rates('reading memory, one thread', reading.one),
      rates(`reading memory, threads: ${cpu.threads}`, reading.all),
      ...(cache ? [rates(`reading the last-level cache (${formatBytes(cache.bytes)})`, cache.rate)] : []),
      rates('KV cache in attention, from memory', cpu.attentionFromMemory),
      rates('KV cache in attention, from a cache', cpu.attentionFromCache),
      row('appending keys and values, a layer', microseconds(cpu.keyValueCopy.median), cpu.keyValueCopy),
      row('overhead of a layer', microseconds(cpu.layerOverhead.median), cpu.layerOverhead),
      rates('norms, rotations, gates', cpu.activations),
      rates('disk, sequential', disk.sequential),
      rates('disk, page by page', disk.random),
    ],
  );
  const second = formatTable(
    [
      { title: 'Weights' },
      right('One token\nGFLOP/s'),
      right('Spread'),
      right('Reading\nGB/s'),
      right('A prompt\nGFLOP/s'),
      right('Spread'),
    ],
    products,
  );
  return `${first}\n${second}`;
}

function rate(value: number): string {
  return `${threeDigits(value / 1e9)} GB/s`;
}

function microseconds(value: number): string {
  return value < 1e-4 ? `${threeDigits(value * 1e6)} us` : formatSeconds(value);
}
