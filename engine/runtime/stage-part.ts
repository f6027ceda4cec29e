import type { StageTime } from './transformer.ts';
import type { WeightsPart } from './weights/weights-layout.ts';

/** The weights that a stage of a forward pass uses. */
export function stagePart(stage: StageTime['name']): WeightsPart {
  if (stage === 'embedding' || stage === 'output') return stage;
  return Number(stage.slice('layer '.length));
}
