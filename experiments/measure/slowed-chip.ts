import type { ChipDevice } from '../../engine/hardware/chip.ts';
import type { FlopRates } from '../../engine/hardware/device.ts';
import type { ControlRates } from '../../engine/profile/control-thread.ts';

/** Measurements of this machine in the part of a chip. */
export interface MeasuredChip extends ControlRates {
  /** Seconds of handing a token's graph over and back; and, where values are copied, of each further token. */
  readonly handOver: { readonly fast: number; readonly naive: number; readonly naivePerToken: number };
  /** Seconds by which a sleep is longer than asked for. */
  readonly oversleep: number;
}

/**
 * A chip slowed until its GPU is as fast as the control thread of this machine: the NPU keeps its advantage in
 * arithmetic and bandwidth, its tiles, its graphs and their base time. Both threads have the memory for themselves, since
 * neither comes near its bandwidth.
 * @param tokens that products have, which is how much naive synchronisation copies
 */
export function slowedChip(chip: ChipDevice, measured: MeasuredChip, tokens = 1): ChipDevice {
  const { flops, bandwidth, attention, promptAttention, activations, dispatch, handOver, oversleep } = measured;
  const slower = flops / chip.gpu.flops.F16;
  const narrower = bandwidth / chip.gpu.bandwidth;
  const npu = { flops: scaled(chip.npu.flops, slower), bandwidth: chip.npu.bandwidth * narrower };
  const rates = Object.fromEntries(Object.keys(chip.gpu.flops).map((format) => [format, flops]));
  return {
    ...chip,
    gpu: {
      ...chip.gpu,
      flops: rates as unknown as FlopRates,
      bandwidth,
      attention: { memory: attention, cache: promptAttention },
      activationBandwidth: activations,
      dispatch,
    },
    npu,
    soc: {
      ...chip.soc,
      bandwidth: bandwidth + npu.bandwidth,
      npu: {
        ...chip.soc.npu,
        dequantise: chip.soc.npu.dequantise * narrower,
        graphRate: chip.soc.npu.graphRate * slower,
      },
      // Kernels of the control thread run when it calls them, and expand weights as they multiply.
      gpu: { queued: 0, drained: 0, dequantise: Number.MAX_VALUE },
      synchronisation: {
        copy: Math.max(0, handOver.naive + (tokens - 1) * handOver.naivePerToken - handOver.fast) / 2,
        sleep: Math.max(oversleep, LEAST_SLEEP),
        poll: 0,
        notify: handOver.fast,
      },
    },
  };
}

/** The slowed chip whose GPU and synchronisation are as measured now, while its NPU goes on at the pace it was given. */
export function asMeasured(paced: ChipDevice, measured: MeasuredChip, tokens: number): ChipDevice {
  const { gpu, soc } = slowedChip(paced, measured, tokens);
  return { ...paced, gpu, soc: { ...paced.soc, gpu: soc.gpu, synchronisation: soc.synchronisation } };
}

/** A rate that nothing comes near: what processors take from each other is measured, as paces. */
const NO_LIMIT = 1e15;

/**
 * This machine's CPU in the part of a chip's GPU, with a second processor in that of its NPU whose times are all
 * measured, the way of its data there and back included, so that handing over costs nothing besides,
 * nor do graphs, which may have any length.
 */
export function chipOfParts(chip: ChipDevice, rates: ControlRates): ChipDevice {
  const nothing = { fast: 0, naive: 0, naivePerToken: 0 };
  const slowed = slowedChip(chip, { ...rates, handOver: nothing, oversleep: 0 });
  const npu = { ...slowed.soc.npu, graphBase: 0, graphRate: NO_LIMIT };
  return { ...slowed, soc: { ...slowed.soc, npu, bandwidth: NO_LIMIT } };
}

/** Shorter sleeps aren't worth it. */
const LEAST_SLEEP = 1e-4;

function scaled(rates: FlopRates, factor: number): FlopRates {
  return Object.fromEntries(
    Object.entries(rates).map(([format, rate]) => [format, factor * rate]),
  ) as unknown as FlopRates;
}
