import type { LayerSeconds } from '../../engine/cost/layer-seconds.ts';
import type { Gpu } from '../../engine/hardware/device.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { PagedKv } from '../hardware/paged-kv.ts';
import { type Computing, finishComputation, startComputation } from './compute.ts';

export interface PagedStage extends Computing {
  readonly device: string;
  readonly gpu: Gpu;
  readonly paged: PagedKv;
  /** Seconds of a layer if all its keys and values were on the GPU. */
  readonly seconds: LayerSeconds;
  readonly from: number;
  readonly to: number;
}

/**
 * GPU layers whose evicted KV pages come over the host link (HELM Algorithm 3): a layer does everything else first,
 * then attends to one slice after another as they arrive, while the next slice is being copied. The work is the same as
 * without pages, so that only waiting adds to the time.
 */
export function* pagedStage(stage: PagedStage): Steps {
  const { device, gpu, paged, seconds, from, to } = stage;
  const { evicted } = paged;
  const sliceSeconds = paged.sliceBytes / (gpu.attention?.memory ?? gpu.bandwidth);
  const before = { ...seconds, memory: seconds.memory - evicted * sliceSeconds };
  for (let layer = from; layer < to; layer++) {
    const computation = startComputation(stage, { device, lane: 'gpu', seconds: before, name: `layer ${layer}` });
    yield* finishComputation(stage, computation, computation.total);
    for (let page = 0; page < evicted; page++) {
      yield* paged.take(layer, page);
      yield* attend(stage, layer, page, computation.factor * sliceSeconds);
      yield* paged.release();
    }
  }
}

function* attend({ simulation, recorder, device }: PagedStage, layer: number, page: number, seconds: number): Steps {
  const start = simulation.now;
  yield hold(seconds);
  const span = { device, lane: 'gpu', cause: 'memory', name: `layer ${layer}, KV page ${page}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}
