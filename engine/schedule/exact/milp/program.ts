import type { DeviceCosts, RingCosts } from '../../../cost/ring-costs.ts';
import type { IntegerProgram } from '../../integer-solver.ts';
import { divisors } from '../../scheduler.ts';
import { layerLimits } from './layer-limits.ts';
import { type Column, createProgramBuilder, type ProgramBuilder, times } from './program-builder.ts';
import { addReloads, type Member, type MilpChoices, type RoundsBlock } from './reloads.ts';

/** The columns of one number of rounds k; all are 0 unless `chosen` is 1. */
export interface RoundsColumns {
  readonly rounds: number;
  readonly chosen: Column;
  /** w and n per device; n undefined where no layer fits on a GPU. */
  readonly windows: readonly { readonly layers: Column; readonly gpuLayers: Column | undefined }[];
  /** The output layer runs on the head's GPU; undefined where it can't. */
  readonly outputOnGpu: Column | undefined;
}

export interface MilpProgram {
  readonly program: IntegerProgram;
  readonly alternatives: readonly RoundsColumns[];
  /** Seconds of one unit of the objective. */
  readonly unit: number;
}

/**
 * The layer-to-device assignment as one mixed-integer program (prima.cpp Eqs. 1–5 with Eqs. 11–19 as they stand, maxima
 * included).
 *
 * Every number of rounds has its own columns, switched on by one binary. With k fixed the ring is linear, and with
 * every right-hand side multiplied by the switch the relaxation of the whole is as tight as those of the parts (Balas's
 * disjunctive programming). Memory limits are whole layers, and the unit of time is the time of the fastest layer, so
 * that the solver's tolerance of 1e-6 never decides between plans.
 */
export function milpProgram(costs: RingCosts, choices: MilpChoices): MilpProgram {
  const unit = Math.min(...costs.devices.flatMap(({ cpuLayer, gpuLayer }) => [cpuLayer, gpuLayer]));
  const builder = createProgramBuilder();
  const alternatives = divisors(costs.layers).map((rounds) => addRounds(builder, { costs, choices, rounds, unit }));
  const chosen = alternatives.map((alternative) => times(1, alternative.chosen));
  builder.equal(chosen, 1);
  return { program: builder.program(), alternatives, unit };
}

type Block = Omit<RoundsBlock, 'builder' | 'chosen' | 'outputOnGpu'>;

function addRounds(builder: ProgramBuilder, given: Block): RoundsColumns {
  const { costs, choices, rounds, unit } = given;
  const head = costs.devices[0] as DeviceCosts;
  const chosen = builder.binary((head.outputOnCpuTotal + costs.embeddingRowBytes / head.reloadRate) / unit);
  const outputFits = layerLimits(costs, head, 'gpu').gpu >= 0;
  const outputOnGpu =
    choices.output === 'any' && outputFits
      ? builder.binary((head.outputOnGpuTotal - head.outputOnCpuTotal) / unit)
      : undefined;
  if (outputOnGpu !== undefined) builder.atMost([times(1, outputOnGpu)], [times(1, chosen)]);
  const block = { ...given, builder, chosen, outputOnGpu };
  const members = costs.devices.map((device, index) => addMember(block, device, index === 0));
  const layers = members.map((member) => times(rounds, member.layers));
  builder.equal([...layers, times(-costs.layers, chosen)], 0);
  for (const member of members) addReloads(block, member);
  addHops(block, members);
  return { rounds, chosen, outputOnGpu, windows: members };
}

/** Adds a device: 1 ≤ w ≤ L/k if it holds layers, 0 ≤ n ≤ w, and the limits of VRAM and RAM (prima.cpp Eqs. 2, 5). */
function addMember(block: RoundsBlock, device: DeviceCosts, isHead: boolean): Member {
  const { builder, costs, choices, rounds, unit, chosen, outputOnGpu } = block;
  const limits = layerLimits(costs, device, isHead ? 'cpu' : undefined);
  const largest = costs.layers / rounds;
  const inRing = builder.binary((rounds * device.windowCopy) / unit);
  const layers = builder.whole((rounds * device.cpuLayer) / unit, largest);
  builder.atMost([times(1, inRing)], [times(1, chosen)]);
  builder.atMost([times(1, inRing)], [times(1, layers)]);
  builder.atMost([times(1, layers)], [times(largest, inRing)]);
  if (isHead && choices.headLayers === 'must') builder.atMost([times(1, chosen)], [times(1, inRing)]);
  // A device without room for its buffers is omitted; if it is the head, there is no ring.
  if (limits.pinned < 0) builder.equal([times(1, isHead ? chosen : inRing)], 0);

  const gpuRoom = Math.min(largest, Math.floor(limits.gpu / rounds));
  let gpuLayers: Column | undefined;
  if (gpuRoom > 0) {
    gpuLayers = builder.whole((rounds * (device.gpuLayer - device.cpuLayer)) / unit, gpuRoom);
    builder.atMost([times(1, gpuLayers)], [times(1, layers)]);
    builder.atMost([times(1, gpuLayers)], [times(gpuRoom, inRing)]);
    if (isHead && outputOnGpu !== undefined) {
      const besideOutput = Math.min(largest, Math.floor(layerLimits(costs, device, 'gpu').gpu / rounds));
      const taken = times(gpuRoom - besideOutput, outputOnGpu);
      builder.atMost([times(1, gpuLayers), taken], [times(gpuRoom, chosen)]);
    }
  }
  const onOwnMemory = gpuLayers === undefined || device.unified ? [] : [times(-1, gpuLayers)];
  const ramLayers = [times(1, layers), ...onOwnMemory];
  const mostInRam = Math.min(largest, Math.floor(Math.max(0, limits.pinned) / rounds));
  builder.atMost(ramLayers, [times(mostInRam, inRing)]);
  return { device, isHead, inRing, layers, gpuLayers, ramLayers, mostInRam };
}

/**
 * Adds the hops of a round: a path from the head through the devices that hold layers, in ring order, and back (Eq.
 * 19). The head alone has none. Arcs need no integrality: the devices on the path determine them.
 */
function addHops({ builder, costs, rounds, unit, chosen }: RoundsBlock, members: readonly Member[]): void {
  const into = members.map((): Column[] => []);
  const outOf = members.map((): Column[] => []);
  const addArc = (from: number, to: number): void => {
    const arc = builder.share((rounds * costs.hop(from, to)) / unit);
    outOf[from]?.push(arc);
    into[to]?.push(arc);
  };
  for (let from = 0; from < members.length; from++) {
    for (let to = from + 1; to < members.length; to++) addArc(from, to);
    if (from > 0) addArc(from, 0);
  }
  const sum = (arcs: readonly Column[] = []) => arcs.map((arc) => times(1, arc));
  members.forEach(({ inRing, isHead }, index) => {
    if (isHead) {
      builder.atMost(sum(outOf[index]), [times(1, chosen)]);
      return;
    }
    const visited = times(-1, inRing);
    builder.equal([...sum(into[index]), visited], 0);
    builder.equal([...sum(outOf[index]), visited], 0);
  });
}
