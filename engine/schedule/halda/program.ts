import { gpuLayerRoom } from '../../cost/memory.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { IntegerProgram, ProgramColumn, ProgramRow } from '../integer-solver.ts';
import { layerWithKv, type VectorForm } from './lda.ts';

export interface HaldaProgramParts {
  readonly costs: RingCosts;
  readonly vectors: VectorForm;
  readonly rounds: number;
  /** Devices of M4 whose RAM may be exceeded; the objective then includes the reloads. */
  readonly soft: ReadonlySet<number>;
  /** Keep the rows that hold M1–M3 overloaded (Eqs. 27–29). */
  readonly overloadRows: boolean;
  /** Add the rows that keep KV cache and buffers within the RAM. */
  readonly kvRows: boolean;
}

/**
 * The integer program of Algorithm 1 for one number of rounds (prima.cpp Eqs. 6–10). Columns: w of every device, then
 * n, then two for every soft device: its first layer beyond the RAM, and the further ones. The objective is in
 * milliseconds, without κ. Right-hand sides are rounded to whole layers, which changes no whole solution.
 */
export function haldaProgram({
  costs,
  vectors,
  rounds,
  soft,
  overloadRows,
  kvRows,
}: HaldaProgramParts): IntegerProgram {
  const count = costs.devices.length;
  const total = costs.layers / rounds;
  const milliseconds = 1e3 * rounds;
  const columns: ProgramColumn[] = [
    ...vectors.a.map((a) => ({ cost: milliseconds * a, lower: 1, upper: total - count + 1, integer: true })),
    ...vectors.b.map((b, index) => {
      const upper = haldaGpuRoom(costs, vectors, index, rounds);
      return { cost: milliseconds * b, lower: 0, upper, integer: true };
    }),
  ];
  const rows: ProgramRow[] = [
    { lower: total, upper: total, entries: vectors.a.map((_, index) => [index, 1] as const) },
    ...vectors.a.map((_, index) => atMost(0, [count + index, 1], [index, -1])),
  ];
  vectors.rows.forEach((device, row) => {
    const sign = vectors.pw[row] as number;
    if (sign === 0) return;
    const entries: (readonly [number, number])[] = [[device, 1]];
    if (vectors.pn[row] !== 0) entries.push([count + device, -1]);
    const room = -sign * total * (vectors.z[row] as number);
    if (sign < 0) {
      if (overloadRows) rows.push({ lower: Math.floor(room) + 1, upper: Number.POSITIVE_INFINITY, entries });
    } else if (soft.has(device)) {
      // Only a part of the first layer may be beyond the RAM; both variables have whole bounds, so solutions stay
      // whole.
      const reload = (milliseconds * layerWithKv(costs)) / (costs.devices[device] as DeviceCosts).reloadRate;
      entries.push([columns.length, -1], [columns.length + 1, -1]);
      rows.push(atMost(Math.floor(room), ...entries));
      columns.push({ cost: (1 - (room - Math.floor(room))) * reload, lower: 0, upper: 1, integer: true });
      columns.push({ cost: reload, lower: 0, upper: total, integer: true });
    } else {
      rows.push(atMost(Math.floor(room), ...entries));
    }
  });
  if (kvRows) {
    costs.devices.forEach((device, index) => {
      const gpuLayers: readonly (readonly [number, number])[] = device.unified ? [] : [[count + index, -1]];
      rows.push(atMost(kvRoom(costs, device, rounds), [index, 1], ...gpuLayers));
    });
  }
  return { columns, rows };
}

/** Layers per window whose KV cache the RAM holds next to the buffers; −1 if it can't hold the buffers. */
function kvRoom(costs: RingCosts, device: DeviceCosts, rounds: number): number {
  const room = device.available - device.ramBuffers;
  if (room < 0) return -1;
  return costs.kvBytes === 0 ? costs.layers : Math.floor(room / (costs.kvBytes * rounds));
}

/** The most GPU layers per window: W z^gpu in whole layers; 0 where Eq. 36 allows none. */
export function haldaGpuRoom(costs: RingCosts, { zGpu }: VectorForm, index: number, rounds: number): number {
  if (zGpu[index] === 0) return 0;
  return gpuLayerRoom(costs, costs.devices[index] as DeviceCosts, index === 0 ? 'cpu' : undefined, rounds);
}

function atMost(upper: number, ...entries: readonly (readonly [number, number])[]): ProgramRow {
  return { lower: Number.NEGATIVE_INFINITY, upper, entries };
}
