import { operatorParts } from '../../engine/cost/chip/operator.ts';
import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import { type ChipDevice, chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { largestOrderGain } from '../papers/heterollm/order.ts';
import type { Column } from '../report/columns.ts';
import { worstOrderRate } from './figures.ts';

/** Consequences of a value of a constant that the paper leaves open, with the NPU's rate fitted anew. */
export interface BandRow {
  readonly varied: string;
  /** FLOP/s of the array in FP16, such that the prompt takes as long as with the file's values. */
  readonly flops: number;
  /** Fig. 5: the most that one order is faster than the other, and FLOP/s in the worst order. */
  readonly orderGain: number;
  readonly worstOrder: number;
  /** FLOP/s of whole operators of a 4-bit model at 256 tokens. */
  readonly attentionOutput: number;
  readonly down: number;
  /** Share of FFN-down's rows and of the attention output's that the solver gives the NPU. */
  readonly downShare: number;
  readonly outputShare: number;
  /** Tokens per second of the second model's prompt. */
  readonly second: number;
}

const TOKENS = 256;
const MIB = 2 ** 20;

type Vary = (device: ChipDevice) => ChipDevice;
const withArray =
  (own: Partial<ChipDevice['soc']['npu']>): Vary =>
  (device) => ({ ...device, soc: { ...device.soc, npu: { ...device.soc.npu, ...own } } });
/** The bandwidth of one processor, at which weights are also expanded. */
const withBandwidth =
  (bandwidth: number): Vary =>
  (device) => ({ ...withArray({ dequantise: bandwidth })(device), npu: { ...device.npu, bandwidth } });

/** Constants that nothing printed decides, at the ends of what is plausible. */
const VARIATIONS: readonly (readonly [string, Vary])[] = [
  ['as in the file', (device) => device],
  ['7 MiB on chip for the stationary operand', withArray({ onChip: 7 * MIB })],
  ['7.5 MiB on chip', withArray({ onChip: 7.5 * MIB })],
  ['40 GB/s for one processor (§3.3, least)', withBandwidth(40e9)],
  ['45 GB/s for one processor (§3.3, most)', withBandwidth(45e9)],
  ['weights expanded twice as fast', (device) => withArray({ dequantise: 2 * device.soc.npu.dequantise })(device)],
  ['an array of 64 × 64', withArray({ tile: 64 })],
];

export interface BandInputs {
  readonly cluster: Cluster;
  /** The model whose prompt of 256 tokens keeps its time. */
  readonly model: Model;
  /** A model that nothing is fitted to. */
  readonly second: Model;
}

/** For each variation the NPU's rate that keeps the first model's prompt as fast as it is, and what follows. */
export function sensitivityBand({ cluster, model, second }: BandInputs): BandRow[] {
  const device = chipDevice(cluster.devices[0] as Device);
  const wanted = promptRate(cluster, device, model);
  return VARIATIONS.map(([varied, vary]) => {
    const fitted = fittedRate(cluster, vary(device), model, wanted);
    const { prefill } = partitionOf(cluster, fitted, model).partition;
    const operators = modelOperators(model);
    const rate = (name: 'attention-output' | 'down'): number => {
      const operator = operators[name];
      const cut = { npuRows: operator.rows, npuLengths: [TOKENS] };
      const { npu } = operatorParts({ operator, cut, tokens: TOKENS }, fitted);
      return (2 * operator.rows * operator.columns * TOKENS) / npu.seconds;
    };
    return {
      varied,
      flops: fitted.npu.flops.F16,
      orderGain: largestOrderGain(fitted),
      worstOrder: worstOrderRate(fitted),
      attentionOutput: rate('attention-output'),
      down: rate('down'),
      downShare: prefill.down.npuRows / operators.down.rows,
      outputShare: prefill['attention-output'].npuRows / operators['attention-output'].rows,
      second: promptRate(cluster, fitted, second),
    };
  });
}

function partitionOf(cluster: Cluster, device: ChipDevice, model: Model) {
  const workload = createWorkload({ promptTokens: TOKENS, outputTokens: 1, context: TOKENS });
  const belief = { ...cluster, devices: [device, ...cluster.devices.slice(1)] };
  const { plan } = tensorPartition({ belief, model, workload }, { system: 'hetero-tensor' });
  if (plan === undefined) throw new RangeError(`${cluster.name} can’t run ${model.name}`);
  return chipCase(plan, belief, model);
}

/** Predicted tokens per second of a prompt. */
function promptRate(cluster: Cluster, device: ChipDevice, model: Model): number {
  return TOKENS / predictChip(partitionOf(cluster, device, model), TOKENS).prefill.seconds;
}

/** The device with the array's rate at which a prompt is processed at `wanted` tokens per second, by bisection. */
function fittedRate(cluster: Cluster, device: ChipDevice, model: Model, wanted: number): ChipDevice {
  const scaled = (factor: number): ChipDevice => {
    const flops = Object.entries(device.npu.flops).map(([format, rate]) => [format, rate * factor]);
    return { ...device, npu: { ...device.npu, flops: Object.fromEntries(flops) } };
  };
  let [low, high] = [0.1, 10];
  while (high / low > 1.001) {
    const middle = Math.sqrt(low * high);
    if (promptRate(cluster, scaled(middle), model) < wanted) low = middle;
    else high = middle;
  }
  return scaled(Math.sqrt(low * high));
}

const tera = (value: number): string => (value / 1e12).toFixed(2);
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

export const BAND: readonly Column<BandRow>[] = [
  { key: 'varied', title: 'constant', value: ({ varied }) => varied, label: true },
  {
    key: 'flops',
    title: 'NPU (TFLOPS)',
    value: ({ flops }) => flops,
    text: ({ flops }) => tera(flops),
    align: 'right',
  },
  {
    key: 'orderGain',
    title: 'Fig. 5: order',
    value: ({ orderGain }) => orderGain,
    text: ({ orderGain }) => `${orderGain.toFixed(1)} ×`,
    align: 'right',
  },
  {
    key: 'worstOrder',
    title: 'worst (TFLOPS)',
    value: ({ worstOrder }) => worstOrder,
    text: ({ worstOrder }) => tera(worstOrder),
    align: 'right',
  },
  {
    key: 'attentionOutput',
    title: 'output (TFLOPS)',
    value: ({ attentionOutput }) => attentionOutput,
    text: ({ attentionOutput }) => tera(attentionOutput),
    align: 'right',
  },
  {
    key: 'down',
    title: 'down (TFLOPS)',
    value: ({ down }) => down,
    text: ({ down }) => tera(down),
    align: 'right',
  },
  {
    key: 'outputShare',
    title: 'rows on the NPU: output',
    value: ({ outputShare }) => outputShare,
    text: ({ outputShare }) => percent(outputShare),
    align: 'right',
  },
  {
    key: 'downShare',
    title: 'down',
    value: ({ downShare }) => downShare,
    text: ({ downShare }) => percent(downShare),
    align: 'right',
  },
  {
    key: 'second',
    title: '1.8B (tok/s)',
    value: ({ second }) => second,
    text: ({ second }) => second.toFixed(0),
    align: 'right',
  },
];
