import type { ExpertsMachine, ExpertsModel } from '../../datasets/experts.ts';
import { PRESSURES } from '../../engine/cost/experts/pressure.ts';
import type { ReadMethod } from '../../engine/experts/experts-policy.ts';
import { BANDWIDTH_SHARE } from './case.ts';
import type { Simulations } from './simulations.ts';

/** Memories of one machine that differ in nothing else, GiB. */
export const MEMORIES = [8, 16, 24, 64] as const;
/** Slots of a layer. */
export const SLOTS = [8, 16, 24, 32, 48, 64, 96, 128] as const;
export const SYSTEMS = ['macos', 'linux'] as const;
const GIB = 2 ** 30;
/** Bytes that the system keeps: as a Mac's working set has it, a quarter, and an eighth of more than 48 GiB. */
const keptShare = (memory: number): number => (memory > 48 ? 1 / 8 : 1 / 4);

/** Tokens a second of one mixture by slots, on one machine with more and less memory. */
export interface SlotsCurve {
  readonly system: (typeof SYSTEMS)[number];
  readonly method: ReadMethod;
  readonly memory: number;
  /** 0 where it doesn't run. */
  readonly rates: readonly number[];
}

/** The curves of an 8 to 64 GiB machine whose bandwidth and disk are those of `machine`. */
export function slotsCurves(machine: ExpertsMachine, model: ExpertsModel, simulations: Simulations): SlotsCurve[] {
  const rate = BANDWIDTH_SHARE * machine.bandwidth;
  const part = model.denseBytes / (model.layers + 1);
  const { layers, experts, used, expertBytes, denseBytes } = model;
  const curves: SlotsCurve[] = [];
  for (const [system, method] of [
    ['macos', 'pread'],
    ['linux', 'direct'],
  ] as const)
    for (const memory of MEMORIES) {
      const rates = SLOTS.map((slots) => {
        const result = simulations(
          {
            mixture: { layers, experts, used, expertBytes, readsPerExpert: 1, denseBytes },
            seconds: { layer: part / rate + machine.layerSeconds, expert: expertBytes / rate, other: part / rate },
            memory: {
              available: memory * GIB * (1 - keptShare(memory)),
              ...{ buffers: 0.5e9, dense: 'anonymous', pressure: PRESSURES[system], readAhead: machine.readAhead },
              copyRate: machine.bandwidth / 3,
            },
            disk: { latency: machine.diskLatency, bandwidth: machine.diskBandwidth },
            policy: {
              ...{ slots, pool: 'layer', eviction: 'lru', method, depth: 8 },
              ...{ layout: 'file', lookahead: { kind: 'none' }, hitsFirst: true },
            },
          },
          model,
        );
        return 1 / result.tokenSeconds;
      });
      curves.push({ system, method, memory, rates });
    }
  return curves;
}
