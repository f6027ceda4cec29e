import type { LabCell } from '../../datasets/lab/cell.ts';
import type { LabFacts } from '../../datasets/lab/facts.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { GroupReadings } from './cgroups/readings.ts';

/** A measured cell, and the probed facts from which it is predicted and simulated. */
export interface CellRun {
  readonly cell: LabCell;
  readonly facts: LabFacts;
  /** The cluster file that the probes of the machine made. */
  readonly profile: string;
  /** Probed rate that each device's throttle lets through, bytes per second. */
  readonly diskRates: readonly number[];
  /**
   * Bytes that each device had for weights and their page tables, from what its processes took in the run; `undefined`
   * where that couldn't be sampled.
   */
  readonly room: readonly number[] | undefined;
  /** Bytes that each device pinned. */
  readonly pinned: readonly number[];
  readonly trace: Trace;
  readonly devices: readonly DeviceCheck[];
}

/** A device's memory limit, and what it used. */
export interface DeviceCheck extends GroupReadings {
  readonly device: string;
  readonly limitBytes: number;
}
