import { type Cluster, withDevices } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';

/** A cluster with the processors of its phones that it may use. */
export interface Variant {
  readonly name: string;
  readonly cluster: Cluster;
  /** How chips cut operators. */
  readonly system: ChipSystemName;
}

/** The names of a cluster's chips. @throws InputError if it has no chip, or only chips */
export function chipsOf({ name, devices }: Cluster): string[] {
  const chips = devices.filter(({ gpu, npu, soc }) => gpu && npu && soc).map((device) => device.name);
  if (chips.length === 0) {
    throw new InputError(`cluster ${name}`, 'has no device with "gpu", "npu" and "soc"; try home-phones');
  }
  if (chips.length === devices.length) {
    throw new InputError(`cluster ${name}`, 'has chips only; in addition to them this needs a device without one');
  }
  return chips;
}

/** The cluster without its phones, with only their GPUs, and with their GPUs and NPUs. */
export function variantsOf(cluster: Cluster): [without: Variant, gpu: Variant, npu: Variant] {
  const chips = chipsOf(cluster);
  const others = cluster.devices.map(({ name }) => name).filter((name) => !chips.includes(name));
  return [
    { name: 'no phones', cluster: withDevices(cluster, others), system: 'hetero-tensor' },
    { name: 'phones, GPU alone', cluster, system: 'gpu-only' },
    { name: 'phones, GPU and NPU', cluster, system: 'hetero-tensor' },
  ];
}
