import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { socDevice } from '../../../engine/hardware/soc.ts';

/** FLOP per second that §1 says the NPU reaches. */
export const HEADLINE_FLOPS = 10e12;

/** The phone with an NPU as fast as the paper's headline has it; tiles load as much faster, so that Fig. 5 still holds. */
export function withHeadlineNpu(cluster: Cluster): Cluster {
  const device = socDevice(cluster.devices[0] as Device);
  const { npu, soc } = device;
  const factor = HEADLINE_FLOPS / npu.flops.F16;
  const array = { ...soc.npu, tileLoad: soc.npu.tileLoad / factor };
  const flops = Object.fromEntries(Object.keys(npu.flops).map((name) => [name, HEADLINE_FLOPS])) as typeof npu.flops;
  return { ...cluster, devices: [{ ...device, npu: { ...npu, flops }, soc: { ...soc, npu: array } }] };
}
