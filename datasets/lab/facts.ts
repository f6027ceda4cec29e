import type { Cpu } from '../../engine/hardware/device.ts';

/** Facts that probes measure before a lab's first cell; nothing is fitted to the runs that are judged. */
export interface LabFacts {
  /** The processor of every device: they share this machine's. */
  readonly cpu: Cpu;
  /** The disk that all devices share, without a throttle, bytes per second. */
  readonly wholeDiskRate: number;
  /** Page faults in random order that read nothing ahead, without a throttle, bytes per second. */
  readonly randomRate: number;
  /** Memory of each device's process without weights and their page tables, bytes. */
  readonly ownBytes: readonly number[];
  /** Time from the end of a window to the start of the next device's, for the activations of one token. */
  readonly hopSeconds: number;
  /** Limit of the links, bytes per second. */
  readonly linkBandwidth: number;
  /** TPOT with all weights in memory. */
  readonly tokenSeconds: number;
  /** How far Linux reads ahead of page faults on this disk (read_ahead_kb), bytes. */
  readonly readAhead: number;
}
