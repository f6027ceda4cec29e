import { evenModel } from '../../datasets/even-model.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { layerByLayer } from '../../engine/plan/layer-by-layer.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';

/** Half of its layers run on the observed device, half on the rest of the ring. */
export const SCENE_MODEL = evenModel(12);

/** The observed device, and one device with enough memory that stands for all others. */
export const SEEN = 'device';
const REST = 'rest of the ring';

/** One of prima.cpp's Figs. 3–5 (A.1, A.2). */
export interface Scene {
  readonly figure: 3 | 4 | 5;
  readonly title: string;
  /** Layers that fit in the device's memory. */
  readonly room: number;
  readonly cluster: Cluster;
  readonly plan: Plan;
}

/**
 * Rates are assumed, so that the figures' premises hold: the device computes a layer in 10 ms; in Fig. 3 all prefetching
 * ends before its turn, in Fig. 4 that of a window does, in Fig. 5 that of one layer and little more. Fig. 3 states room
 * for three layers. Figs. 4 and 5 state none: prefetching a window of two "replaces the used layers", and the oldest
 * layer is released as soon as one is prefetched, so there is room for two.
 */
export const SCENES: readonly Scene[] = [
  scene({ figure: 3, title: 'PP with prefetching', room: 3, rounds: 1, disk: '2 GB/s' }),
  scene({ figure: 4, title: 'PRP, windows of two layers, fast disk', room: 2, rounds: 3, disk: '2 GB/s' }),
  scene({ figure: 5, title: 'PRP, windows of two layers, slow disk', room: 2, rounds: 3, disk: '500 MB/s' }),
];

interface SceneParts extends Pick<Scene, 'figure' | 'title' | 'room'> {
  readonly rounds: number;
  readonly disk: string;
}

function scene({ figure, title, room, rounds, disk }: SceneParts): Scene {
  const name = `Fig. ${figure}`;
  const bytes = SCENE_MODEL.layer.bytes;
  const device = (called: string, available: number, bandwidth: string, rate: string): unknown => ({
    name: called,
    os: 'linux',
    memory: { total: '16 GiB', available: `${available} B` },
    cpu: { cores: 4, compute: '1000 TFLOPS', bandwidth },
    disk: { sequential: rate },
  });
  const devices = [device(REST, 8 * 2 ** 30, '0.92 GB/s', '2 GB/s'), device(SEEN, room * bytes, '13.4 GB/s', disk)];
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  const cluster = parseCluster(JSON.stringify({ name, devices, links }), name);
  const windows = [SEEN, REST].map((called) => ({
    device: called,
    layers: SCENE_MODEL.layers / 2 / rounds,
    gpuLayers: 0,
  }));
  const plan = ringPlan({ scheduler: 'hand', head: REST, rounds, windows, prefetch: 'populate' });
  return { figure, title, room, cluster, plan: layerByLayer(plan) };
}
