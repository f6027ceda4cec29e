import type { Streaming } from '../../engine/cost/layer-streaming.ts';
import { HOOK_SECONDS } from '../../engine/cost/runtime.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { Simulation } from '../event-loop/simulation.ts';

export interface StreamedStage {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly device: string;
  readonly streamed: Streaming;
  readonly from: number;
  readonly to: number;
  /** Bytes of a layer's weights, and seconds that they take over the host link. */
  readonly layerBytes: number;
  readonly copySeconds: number;
  /** The GPU's work on a layer whose weights have been copied. */
  readonly compute: (layer: number) => Steps;
}

/**
 * Runs a stage whose weights are copied to the GPU layer by layer. `ahead`: there is room for two layers, so a layer is
 * copied while the one before it is computed; `in-turn`: copying, hooks and computing follow each other.
 */
export function* streamStage(stage: StreamedStage): Steps {
  const { simulation, streamed, from, to, compute } = stage;
  if (streamed === 'in-turn') {
    for (let layer = from; layer < to; layer++) {
      yield* copyLayer(stage, layer);
      yield* runHook(stage, layer);
      yield* compute(layer);
    }
    return;
  }
  const startCopy = (layer: number) =>
    simulation.spawn(`copy of layer ${layer} to ${stage.device}`, copyLayer(stage, layer));
  let copy = startCopy(from);
  for (let layer = from; layer < to; layer++) {
    yield copy.join();
    if (layer + 1 < to) copy = startCopy(layer + 1);
    yield* compute(layer);
  }
}

function* copyLayer({ simulation, recorder, device, layerBytes, copySeconds }: StreamedStage, layer: number): Steps {
  const start = simulation.now;
  yield hold(copySeconds);
  const span = { device, lane: 'link', cause: 'deviceCopy', name: `layer ${layer} to the GPU` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes: layerBytes } });
}

function* runHook({ simulation, recorder, device }: StreamedStage, layer: number): Steps {
  const start = simulation.now;
  yield hold(HOOK_SECONDS);
  const span = { device, lane: 'gpu', cause: 'overhead', name: `hooks of layer ${layer}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}
