import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import type { FittedPlan, Stage } from '../../engine/plan/plan.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import { createNoise } from '../hardware/processor.ts';
import type { SimulationParts } from '../options.ts';
import type { SavedPages } from '../page-cache/saved-pages.ts';
import { createDevice, leaveStop, lookUp, runStop } from './ring.ts';
import type { RingDevice } from './ring-device.ts';
import type { Pass, StopParts } from './ring-pass.ts';
import type { Stop } from './token-path.ts';

/** A step of a token on a device. */
export interface Call {
  readonly pass: Pass;
  /** `undefined`: the head looks up the embedding. */
  readonly stop: Stop | undefined;
  /** Stops that need the weights that the device prefetches after this stop. */
  readonly next: readonly Stop[];
}

/** A token's computations on a device between its arrival there and its departure. */
export type Visit = readonly Call[];

/** A device of a ring, alone. */
export interface MemberParts {
  readonly options: Omit<SimulationParts, 'plan'>;
  readonly plan: FittedPlan;
  readonly runtime: StopParts['runtime'];
  readonly costs: RingCosts;
  /** Its index in the cluster. */
  readonly index: number;
  readonly stages: readonly Stage[];
  /** KV cache, buffers and pinned weights, bytes. */
  readonly nonReclaimableBytes: number;
}

export interface VisitCase {
  readonly visit: Visit;
  /** The visit before; `undefined`: the run begins. */
  readonly before: Visit | undefined;
  /** Contents of the page cache at the departure before; `undefined`: the run begins. */
  readonly saved: SavedPages | undefined;
  /** Seconds from that departure to the arrival; `rest`: until nothing goes on in the background. */
  readonly gap: number | 'rest';
}

export interface VisitTimes {
  /** Seconds from the departure before to the arrival. */
  readonly gap: number;
  /** Seconds from the arrival to the departure. */
  readonly seconds: number;
  /** Seconds from the arrival to the end of the output layer, where the token before ends; `undefined`: none ended. */
  readonly outputSeconds: number | undefined;
  /** Bytes read for page faults. */
  readonly faultedBytes: number;
  /**
   * Contents of the page cache at the departure; `undefined` if they can't be saved, something goes on in the
   * background, or the device lacks memory.
   */
  readonly saved: SavedPages | undefined;
}

/** Simulates a token's visit to a device. Of the other devices only the time of its arrival matters. */
export function simulateVisit(member: MemberParts, { visit, before, saved, gap }: VisitCase): VisitTimes {
  const { options, plan, runtime, index, stages, nonReclaimableBytes } = member;
  const { cluster, model, workload } = options;
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: false });
  const run = { ...member, parts: options, simulation, recorder, context: workload.context };
  const nonReclaimable = new Map([[cluster.devices[index]?.name ?? '', nonReclaimableBytes]]);
  const device = createDevice({ ...run, nonReclaimable }, index, stages, saved);
  const noise = createNoise(0, 0);
  const { prefetch, release } = device.policy;
  // Times stay the same, to the last bit, only without prefetching and release.
  const joinsLayers = prefetch === 'none' && release === 'none';
  const parts = { simulation, recorder, noise, cluster, model, plan, workload, runtime, chips: new Map(), joinsLayers };
  const { reader, cache, memory, pinnedBytes } = device;
  const times = { arrival: 0, output: undefined as number | undefined };
  const onOutput = (): void => {
    times.output = simulation.now;
  };
  const last = before?.at(-1);
  const steps = function* (): Steps {
    if (last?.stop !== undefined) leaveStop(device, last.stop, last.next);
    if (gap === 'rest') yield reader.background.idle();
    else yield hold(gap);
    times.arrival = simulation.now;
    yield* runVisit(parts, device, visit, onOutput);
  };
  simulation.run(simulation.spawn('visit', steps()));
  const { arrival, output } = times;
  const isShort = memory.fixedBytes(workload.context) + pinnedBytes > memory.available;
  return {
    gap: arrival,
    seconds: simulation.now - arrival,
    outputSeconds: output === undefined ? undefined : output - arrival,
    faultedBytes: reader.totals.faultedBytes,
    saved: reader.background.isIdle && !isShort ? cache.save() : undefined,
  };
}

/** Everything but the departure from the visit's last stop, which is where the next visit begins. */
function* runVisit(parts: StopParts, device: RingDevice, visit: Visit, onOutput: () => void): Steps {
  for (const [index, { pass, stop, next }] of visit.entries()) {
    if (stop === undefined) {
      yield* lookUp(device);
      continue;
    }
    yield* runStop(parts, pass, device, stop);
    if (stop.output) onOutput();
    if (index < visit.length - 1) leaveStop(device, stop, next);
  }
}
