import { workerHere } from '../../ring/ring-in-process.ts';
import { RING_MEMORY, ringGpu } from './ring-gpu.ts';

/** The input of the process of a ring's second device. */
export interface RingWorkerTask {
  readonly model: string;
  readonly device: string | undefined;
}

/** The second device of the ring on loopback: tells its address, and computes until it is ended. */
const { model, device } = JSON.parse(process.argv[2] ?? '{}') as RingWorkerTask;
const { member } = await workerHere('a', model, { headKeys: undefined, ...RING_MEMORY, gpu: ringGpu(device) });
process.on('disconnect', () => process.exit());
process.send?.(member);
