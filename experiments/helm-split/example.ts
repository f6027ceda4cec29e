import type { PublishedCell } from '../../datasets/published.ts';
import { kvCacheBytes } from '../../engine/cost/layer-seconds.ts';
import { activationBytes, blockBytes, blockSeconds, ROOFLINE_RUNTIME } from '../../engine/cost/roofline.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { type Configuration, configuration } from './configurations.ts';

/** One quantity of the running example: the printed value, and the value by the thesis's equations. */
export interface ExampleRow {
  readonly quantity: string;
  readonly where: string;
  readonly printed: string;
  readonly computed: string;
  readonly note: string;
}

export const EXAMPLE = { machine: 'helm-4060', model: 'Qwen3-8B' } as const;

/**
 * HELM 4.1's running example line by line: Qwen3-8B on the RTX 4060. Like the thesis's numbers, T_CPU, T_GPU and T_plan
 * are without attention (an empty KV cache); the last line adds it at 4096 tokens.
 */
export function runningExample(cluster: Cluster, model: Model, cells: readonly PublishedCell[]): ExampleRow[] {
  const search = (context: number): Configuration => {
    const workload = createWorkload({ context });
    return configuration({ cluster, model, label: model.name, workload, cells });
  };
  const empty = search(0);
  const { cpu, gpu } = cluster.devices[0] as Device;
  const once = createWorkload({ context: 0 });
  const long = createWorkload({ context: 4096 });
  const bytes = blockBytes(model);
  const blockOn = (processor: Device['cpu'] | NonNullable<Device['gpu']>): number =>
    blockSeconds({ model, workload: once, processor, blocks: 1 }).memory;
  const ends = model.embedding.bytes + model.output.bytes;
  const split = empty.chosen?.split;
  const allCpu = empty.curve.at(-1);
  const row = rowsFrom(cells);
  return [
    row('W_attn', ['§4.1.1', 'Qwen3-8B', 'W_attn'], megabytes(bytes.attention)),
    row('W_FFN', ['§4.1.1', 'Qwen3-8B', 'W_FFN'], megabytes(bytes.feedForward)),
    row('W_param, a block', ['§4.1.1', 'Qwen3-8B', 'W_param'], megabytes(model.layer.bytes)),
    row('W_act', ['Fig. 4.3', 'Qwen3-8B', 'W_act'], kibibytes(activationBytes(model, once, ROOFLINE_RUNTIME))),
    row('W_kv of a block, 4096 tokens', ['§4.1.1', 'Qwen3-8B', 'W_kv at c=4096'], mebibytes(kvCacheBytes(model, long))),
    row('a block on the CPU', ['§4.1.3', 'running example', 'CPU time per block'], milliseconds(blockOn(cpu))),
    row('a block on the GPU', ['§4.1.3', 'running example', 'GPU time per block'], gpu && milliseconds(blockOn(gpu))),
    row('embedding and head', ['§4.1.3', 'running example', 'embedding and output projection'], gigabytes(ends)),
    row('k*, units on the CPU', ['§4.1.3', 'running example', 'k*'], split && `${split.cpuUnits} units`),
    row('k* of Fig. 4.4', ['Fig. 4.4', 'Qwen3-8B on an RTX 4060', 'k*'], split && `${split.cpuUnits} units`),
    row('weights on the GPU', ['§4.2.2', 'running example', 'GPU-side weights'], split && gigabytes(split.gpuBytes)),
    row('T_CPU', ['§4.1.3', 'running example', 'T_cpu'], split && milliseconds(split.cpuSeconds)),
    row(
      'T_CPU, measured',
      ['§4.1.5', 'running example', 'CPU stage with the kernel'],
      split && milliseconds(split.cpuSeconds),
    ),
    row('T_GPU', ['§4.1.3', 'running example', 'T_gpu'], split && milliseconds(split.gpuSeconds)),
    row('T_comm', ['§4.1.3', 'running example', 'T_comm'], split && `${(1e6 * split.copySeconds).toFixed(1)} µs`),
    row('T_plan', ['§4.1.3', 'running example', 'T_plan'], split && milliseconds(split.tokenSeconds)),
    row(
      'throughput',
      ['§4.1.3', 'running example', 'throughput'],
      split && `${(1 / split.tokenSeconds).toFixed(2)} tok/s`,
    ),
    row(
      'T_plan, all on the CPU',
      ['§4.1.3', 'running example, all-CPU (k=36)', 'T_plan'],
      allCpu && milliseconds(allCpu.tokenSeconds),
    ),
    row(
      'T_plan + N δ̄',
      ['Table 6.5', '4060 / Qwen3-8B', 'Pred. (ms)'],
      empty.chosen && milliseconds(empty.chosen.correctedSeconds),
    ),
    {
      quantity: 'T_plan at 4096 tokens',
      where: '',
      printed: '',
      computed: milliseconds(search(4096).chosen?.split.tokenSeconds ?? Number.NaN),
      note: 'with reading the KV cache (Eqs. 4.12 to 4.14), at the split that is best there',
    },
  ];
}

/** Makes rows of published cells: value, unit and remark are taken from the table. */
function rowsFrom(cells: readonly PublishedCell[]) {
  return (
    quantity: string,
    [table, rowName, column]: readonly [string, string, string],
    computed: string | undefined,
  ): ExampleRow => {
    const cell = cells.find(
      (one) => one.paper === 'helm' && one.table === table && one.row === rowName && one.column === column,
    );
    if (cell === undefined) throw new RangeError(`helm.csv has no cell ${table}, ${rowName}, ${column}`);
    const printed = `${cell.value} ${cell.unit}`;
    return { quantity, where: table, printed, computed: computed ?? '–', note: cell.note };
  };
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;
const kibibytes = (bytes: number): string => `${bytes / 2 ** 10} KiB`;
const mebibytes = (bytes: number): string => `${bytes / 2 ** 20} MiB`;
const milliseconds = (seconds: number): string => `${(1000 * seconds).toFixed(seconds < 0.1 ? 2 : 1)} ms`;
