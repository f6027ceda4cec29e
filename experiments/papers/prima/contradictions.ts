import { findPublished, type PublishedCell } from '../../../datasets/published.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { type Device, reloadRate } from '../../../engine/hardware/device.ts';
import { formatBytes } from '../../../engine/input/format.ts';
import type { Model } from '../../../engine/model/model.ts';
import { quantityOf } from './quantities.ts';

/** A cell that is impossible on the devices as the paper states them, with the arithmetic. */
export interface Contradiction {
  readonly table: string;
  readonly system: string;
  readonly model: string;
  /** The model as the table calls it. */
  readonly row: string;
  /** Printed seconds per token, and the least that any plan takes under any way to reclaim. */
  readonly published: number;
  readonly bound: number;
  /** The arithmetic of the bound. */
  readonly text: string;
}

/**
 * Cells that are impossible with the memory that devices have: of llama.cpp's 45B in Table 4 and prima.cpp's 72B in
 * Table 9, those that a bound excludes.
 * @param home the devices of Table 3, as stated or as they are taken to be
 */
export function contradictionsOf(
  home: Cluster,
  published: readonly PublishedCell[],
  modelOf: (name: string) => Model,
): Contradiction[] {
  const d3 = home.devices.filter(({ name }) => name === 'D3');
  const candidates = [
    { table: '4', system: 'llama.cpp', model: 'Llama-3-45B', devices: d3, pinned: 0 },
    {
      table: '9',
      system: 'prima.cpp',
      model: 'Qwen2.5-72B',
      devices: home.devices,
      pinned: leastPinned(home, published),
    },
  ];
  return candidates.flatMap(({ devices, pinned, ...place }) => {
    const cell = findPublished(published, { system: place.system, model: place.model, metric: 'tpot' }).find(
      ({ table }) => table === `Table ${place.table}`,
    );
    const printed = cell && quantityOf(cell);
    if (cell === undefined || typeof printed !== 'number') return [];
    const { weights, room, excess, rate, seconds } = leastReload(devices, modelOf(place.model), pinned);
    if (seconds <= printed) return [];
    const besides =
      pinned === 0 ? '' : ` and ${formatBytes(pinned)} that can’t be reclaimed (Table 5, at 70B, at least)`;
    const disks = devices.length === 1 ? 'its disk reads' : 'all disks together read';
    const text = `${formatBytes(weights)} of weights${besides} exceed ${formatBytes(room)} of RAM and VRAM by ${formatBytes(excess)}, and ${disks} ${formatBytes(rate)} in a second`;
    return [{ ...place, row: cell.row, published: printed, bound: seconds, text }];
  });
}

/** Stands for the 72B: as many layers of the same width, the same KV cache, a smaller vocabulary. */
const PRESSURE_MODEL = 'Llama-3-70B';
/** The device whose installed RAM the paper states: 8 GiB (4.1, A.8). */
const STATED_TOTAL = 'D1';

/**
 * The least bytes that prima.cpp's 70B keeps from being reclaimed (Table 5). The table has shares of installed RAM; where
 * the paper doesn't state that, the available RAM bounds it from below. A printed upper bound ("≤") counts as zero.
 */
function leastPinned(home: Cluster, published: readonly PublishedCell[]): number {
  const cells = findPublished(published, {
    system: 'prima.cpp',
    model: PRESSURE_MODEL,
    metric: 'memory-pressure',
  }).filter(({ table, note }) => table === 'Table 5' && !note.startsWith('upper bound'));
  return home.devices.reduce((sum, { name, memory }) => {
    const cell = cells.find(({ column }) => column.endsWith(` ${name}`));
    const share = cell && quantityOf(cell);
    if (typeof share !== 'number') return sum;
    return sum + share * (name === STATED_TOTAL ? memory.total : memory.available);
  }, 0);
}

/** The least time of a token's reloads. */
export interface LeastReload {
  /** Bytes of weights that a token reads. */
  readonly weights: number;
  /** Bytes of RAM and VRAM of all devices. */
  readonly room: number;
  /** Bytes that remain on disks at best. */
  readonly excess: number;
  /** Bytes per second of all disks together. */
  readonly rate: number;
  readonly seconds: number;
}

/**
 * A lower bound of the time per token for all plans and all ways to reclaim: all RAM and VRAM holds weights except for
 * `pinned` bytes, all disks read without a pause, and computing and sending take no time. What doesn't fit is read once
 * per token; of the embedding a token reads one row only. Memory that Android could swap out isn't counted: the paper
 * doesn't state it, and prima.cpp treats Android as Linux.
 * @param pinned bytes of RAM that don't hold weights, over all devices
 */
export function leastReload(devices: readonly Device[], { layers, layer, output }: Model, pinned: number): LeastReload {
  const weights = layers * layer.bytes + output.bytes;
  const room = devices.reduce((sum, { memory, gpu }) => sum + memory.available + (gpu?.memory.available ?? 0), 0);
  const rate = devices.reduce((sum, device) => sum + reloadRate(device), 0);
  const excess = Math.max(0, weights + pinned - room);
  return { weights, room, excess, rate, seconds: excess / rate };
}
