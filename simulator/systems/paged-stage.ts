import type { LayerSeconds } from '../../engine/cost/layer-seconds.ts';
import type { Gpu } from '../../engine/hardware/device.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { PagedKv } from '../hardware/paged-kv.ts';
import { askFor, type Computing, finish } from './compute.ts';

export interface PagedStage extends Computing {
  readonly device: string;
  readonly gpu: Gpu;
  readonly paged: PagedKv;
  /** Of a layer, as if all its keys and values were on the GPU. */
  readonly seconds: LayerSeconds;
  readonly from: number;
  readonly to: number;
}

/**
 * GPU layers of which evicted pages come over the host link (HELM Algorithm 3): a layer does all else, then attends to one
 * slice after another as they arrive, while the next is on its way. What it does is what it does without pages, so that
 * only waiting adds to its time.
 */
export function* pagedStage(stage: PagedStage): Steps {
  const { device, gpu, paged, seconds, from, to } = stage;
  const { evicted } = paged;
  const sliceSeconds = paged.sliceBytes / (gpu.attention?.memory ?? gpu.bandwidth);
  const before = { ...seconds, memory: seconds.memory - evicted * sliceSeconds };
  for (let layer = from; layer < to; layer++) {
    const computation = askFor(stage, device, 'gpu', before, `layer ${layer}`);
    yield* finish(stage, computation, computation.total);
    for (let page = 0; page < evicted; page++) {
      yield* paged.take(layer, page);
      yield* attend(stage, layer, page, computation.factor * sliceSeconds);
      yield* paged.giveBack();
    }
  }
}

function* attend({ simulation, recorder, device }: PagedStage, layer: number, page: number, seconds: number): Steps {
  const start = simulation.now;
  yield hold(seconds);
  const span = { device, lane: 'gpu', cause: 'memory', name: `layer ${layer}, KV page ${page}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}
