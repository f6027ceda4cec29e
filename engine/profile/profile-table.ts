import { formatBytes, formatPercent, formatSeconds, threeDigits } from '../input/format.ts';
import { QUANTIZATIONS, quantizedBytes } from '../model/quantization.ts';
import { formatTable } from '../terminal/table.ts';
import { hostLinkOf } from './gpu-probes.ts';
import { DEPTHS } from './probes/small-pass.ts';
import type { ProcessorMeasures } from './processor-probes.ts';
import type { MachineProfile } from './profile-machine.ts';
import { type Sample, scaled } from './sample.ts';

/** The measurements as a table for terminals. */
export function profileTable({ memory, cpu, gpu, reading, cache, disk }: MachineProfile): string {
  const row = (what: string, value: string, { spread, repeats }: Sample): string[] => [
    what,
    value,
    `± ${formatPercent(spread)}`,
    String(repeats),
  ];
  const rates = (what: string, sample: Sample): string[] => row(what, rate(sample.median), sample);
  const processor = (measures: ProcessorMeasures): string[][] => [
    rates('KV cache in attention, from memory', measures.attentionFromMemory),
    rates('KV cache in attention, from a cache', measures.attentionFromCache),
    ...[...(measures.quantizedAttention ?? [])].flatMap(([format, { memory, cache }]) => [
      rates(`KV cache in ${format} in attention, from memory`, memory),
      rates(`KV cache in ${format} in attention, from a cache`, cache),
    ]),
    row('appending keys and values, a layer', microseconds(measures.keyValueCopy.median), measures.keyValueCopy),
    row(`${DEPTHS.deep} small layers`, microseconds(measures.smallPass.deep.median), measures.smallPass.deep),
    rates('norms, rotations, gates', measures.activations),
  ];
  const first = formatTable(
    [{ title: 'What' }, right('Median'), right('Spread'), right('Repeats')],
    [
      ['memory, installed', formatBytes(memory.memory.total), '', ''],
      [`memory, available (${memory.rule})`, formatBytes(memory.memory.available), '', ''],
      rates('reading memory, one thread', reading.one),
      rates(`reading memory, threads: ${cpu.threads}`, reading.all),
      ...(cache ? [rates(`reading the last-level cache (${formatBytes(cache.bytes)})`, cache.rate)] : []),
      ...processor(cpu),
      rates('disk, sequential', disk.sequential),
      rates('disk, page by page', disk.random),
    ],
  );
  const onGpu =
    gpu === undefined
      ? ''
      : `\n${formatTable(
          [{ title: gpu.adapter }, right('Median'), right('Spread'), right('Repeats')],
          [
            [`memory (${gpu.memory.rule})`, formatBytes(gpu.memory.bytes), '', ''],
            row('a hidden state there and back', microseconds(gpu.crossing.median), gpu.crossing),
            rates('copying, each way', { ...gpu.largeCrossing, median: hostLinkOf(gpu).bandwidth }),
            ...processor(gpu.processor),
          ],
        )}\n${productsTable(gpu.processor)}`;
  return `${first}\n${productsTable(cpu)}${onGpu}`;
}

const right = (title: string) => ({ title, align: 'right' as const });

/** Products with weights of each format. */
function productsTable({ vectorProducts, matrixProducts }: ProcessorMeasures): string {
  const rows = [...vectorProducts].map(([type, vector]) => {
    const matrix = scaled(matrixProducts.get(type) as Sample, 2e-9, 'inverse');
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
  return formatTable(
    [
      { title: 'Weights' },
      right('One token\nGFLOP/s'),
      right('Spread'),
      right('Reading\nGB/s'),
      right('A prompt\nGFLOP/s'),
      right('Spread'),
    ],
    rows,
  );
}

function rate(value: number): string {
  return `${threeDigits(value / 1e9)} GB/s`;
}

function microseconds(value: number): string {
  return value < 1e-4 ? `${threeDigits(value * 1e6)} us` : formatSeconds(value);
}
