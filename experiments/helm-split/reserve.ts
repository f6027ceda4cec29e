import { findPublished, type PublishedCell } from '../../datasets/published.ts';
import type { Configuration } from './configurations.ts';

/** Bounds from a published split on the VRAM that HELM gave to weights, if it put as many units there as fit. */
export interface VramInterval {
  readonly machine: string;
  readonly label: string;
  readonly cpuUnits: number;
  readonly gpuUnits: number;
  /** Bytes of the GPU's units: VRAM_avail is at least this (Eq. 4.16). */
  readonly atLeast: number;
  /** VRAM_avail is less than this: the bytes with one unit more. */
  readonly below: number;
  /** The nominal (decimal) VRAM, bytes. */
  readonly nominal: number;
}

/** Bounds of a reserve, bytes: above `above`, at most `atMost`. */
export interface Reserve {
  readonly above: number;
  readonly atMost: number;
}

/**
 * The interval of every published split that leaves units on the CPU; splits without any bound VRAM from below only.
 */
export function vramIntervals(
  configurations: readonly Configuration[],
  cells: readonly PublishedCell[],
): VramInterval[] {
  return configurations.flatMap(({ machine, label, curve, published: { split } }) => {
    if (split === undefined || split.cpuUnits === 0) return [];
    const nominal = findPublished(cells, { cluster: machine, metric: 'vram' }).find(({ table }) => table === '§5.1');
    const [atLeast, below] = [curve[split.cpuUnits]?.gpuBytes, curve[split.cpuUnits - 1]?.gpuBytes];
    if (typeof nominal?.value !== 'number' || atLeast === undefined || below === undefined) return [];
    return [{ machine, label, ...split, atLeast, below, nominal: nominal.value * 1e9 }];
  });
}

/** The reserves, less than the nominal VRAM, that give all of the splits; undefined where there are none. */
export function commonReserve(intervals: readonly VramInterval[]): Reserve | undefined {
  const above = Math.max(...intervals.map(({ nominal, below }) => nominal - below));
  const atMost = Math.min(...intervals.map(({ nominal, atLeast }) => nominal - atLeast));
  return intervals.length > 0 && above < atMost ? { above, atMost } : undefined;
}
