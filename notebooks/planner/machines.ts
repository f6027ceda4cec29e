import { html } from 'htl';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { type Device, isDiscrete } from '../../engine/hardware/device.ts';
import { formatBytes, threeDigits } from '../../engine/input/format.ts';

const gigabytes = (rate: number): string => `${threeDigits(rate / 1e9)} GB/s`;

/** A device's places for weights, a line each: GPU, RAM and disk, their room, and how fast they are read. */
export function contributions({ memory, cpu, gpu, disk }: Device): string[] {
  return [
    ...(isDiscrete(gpu)
      ? [`GPU: ${formatBytes(gpu.memory.available)} at ${gigabytes(gpu.bandwidth)}`]
      : gpu === undefined
        ? []
        : [`GPU shares the RAM at ${gigabytes(gpu.bandwidth)}`]),
    `RAM: ${formatBytes(memory.available)} free of ${formatBytes(memory.total)}, at ${gigabytes(cpu.bandwidth)}`,
    `Disk: the rest, at ${gigabytes(disk.sequential)}`,
  ];
}

/** A card for each device of a cluster. */
export function machineCards({ devices }: Cluster): HTMLElement[] {
  return devices.map(
    (device, index) =>
      html`<li class="card"><strong>${device.name}</strong>${index === 0 ? ' (the head: starts and ends each token)' : ''}<br>${contributions(device).map((text) => html`${text}<br>`)}</li>` as HTMLElement,
  );
}
