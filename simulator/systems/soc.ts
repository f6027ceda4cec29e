import { LAYER_OPERATORS, operatorShapes } from '../../engine/model/operators.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Steps } from '../event-loop/effect.ts';
import { type ChipCase, chipSteps, createChip, runSteps } from './chip.ts';

export interface SocParts extends ChipCase {
  readonly workload: Workload;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** The KV cache grows to so many tokens. */
  readonly grow: (context: number) => void;
}

/** One request on a chip that has the whole model. */
export function* soc(parts: SocParts): Steps {
  const { simulation, recorder, partition, model, workload } = parts;
  const chip = createChip(parts);
  const shapes = operatorShapes(model);
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    const start = simulation.now;
    if (phase === 'prefill') {
      for (const name of LAYER_OPERATORS) {
        for (const length of partition.prefill[name].npuLengths) yield* chip.npu.prepare(shapes[name], length);
      }
    }
    const { layer, output } = chipSteps(parts, phase, context);
    for (let at = 0; at < model.layers; at++) yield* runSteps(chip, layer, `layer ${at}, `);
    yield* runSteps(chip, output, '');
    yield* chip.gpu.drain();
    recorder.token({ phase, start, end: simulation.now });
  }
}
