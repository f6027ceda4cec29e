import { type Infeasibility, totalSeconds } from '../../engine/cost/breakdown.ts';
import type { PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import { predict } from '../../engine/cost/predict.ts';
import { costsOfPass, hopSeconds } from '../../engine/cost/ring-costs.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { PassTokens } from '../../engine/experts/routing.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { RingPlan, SplitPlan } from '../../engine/plan/plan.ts';
import { relaysOf } from '../../engine/plan/windows.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import type { Lane, TracedDevice } from '../../engine/trace/trace.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { SimulatedDevice } from '../result.ts';
import {
  type ExpertPass,
  type ExpertPasses,
  endExpertPass,
  NO_PAGE_COUNTS,
  NO_PAGES,
  runExpertLayer,
} from './expert-passes.ts';
import { type Stop, tokenPath } from './token-path.ts';

/** A device of the plan that caches experts. */
export interface ExpertMember {
  /** The model's layers whose experts it caches. */
  readonly layers: readonly number[];
  readonly passes: ExpertPasses;
  /** Seconds of its part of a pass that decodes this many tokens of each text. */
  readonly secondsOf: (tokens: number) => PassSeconds;
}

export interface ExpertRingParts {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: SplitPlan | RingPlan;
  readonly workload: Workload;
  readonly runtime: Runtime | undefined;
  readonly members: readonly ExpertMember[];
  readonly simulation: Simulation;
  readonly recorder: Recorder;
}

export interface ExpertRing {
  readonly devices: readonly TracedDevice[];
  /** Devices without a policy whose memory is exceeded. */
  readonly infeasible: readonly Infeasibility[];
  /** Runs a pass on its way through all windows and the output layer. */
  pass(phase: 'prefill' | 'decode', tokens: PassTokens, from: number): Steps;
  /** Devices without a policy: they read nothing. */
  resident(): SimulatedDevice[];
}

/** Seconds of the devices without a policy, and of hops, in one kind of pass. */
interface PassTimes {
  window(stop: Stop): number;
  readonly output: number;
  hop(from: string, to: string): number;
}

/**
 * The way of a pass through devices of which some cache experts. One pass is under way at a time: a device waits for its turn,
 * while what it has begun to read goes on.
 * @throws InputError for a device that would read weights from its disk though no policy says how
 */
export function createExpertRing(parts: ExpertRingParts): ExpertRing {
  const { cluster, model, plan, workload, runtime, members, simulation, recorder } = parts;
  const byName = new Map(members.map((member) => [member.passes.device, member]));
  const path = tokenPath(plan);
  const head = plan.output.device;
  const asked = { plan, truth: cluster, model, workload, reclaim: 'lru', ...(runtime && { runtime }) } as const;
  const whole = predict(asked);
  const others = whole.devices.filter(({ device }) => !byName.has(device));
  const reading = others.filter(({ reloadedBytes }) => reloadedBytes > 0).map(({ device }) => device);
  if (reading.length > 0)
    throw new InputError(
      'plan: weights',
      `${reading.join(', ')} would read weights from a disk, but only others say how experts are cached; add "weights": {"${reading[0]}": {"experts": …}}`,
    );
  const indices = new Map(cluster.devices.map(({ name }, index) => [name, index]));
  const timesOf = (phase: 'prefill' | 'decode', tokens: number): PassTimes => {
    const pass = { phase, ...(phase === 'decode' && { verifiedTokens: tokens }) };
    const costs = costsOfPass(cluster, model, workload, { ...pass, runtime });
    const { devices, stages } = predict({ ...asked, ...pass });
    const busy = ({ seconds }: (typeof stages)[number] | (typeof devices)[number]): number =>
      totalSeconds({ ...seconds, link: 0, disk: 0 });
    const output = stages.filter((stage) => stage.output).reduce((sum, stage) => sum + busy(stage), 0);
    const layers = new Map(devices.map((one) => [one.device, busy(one) - (one.device === head ? output : 0)]));
    return {
      output,
      window({ device, stages: own }) {
        const all = plan.stages.filter((stage) => stage.device === device);
        return ((layers.get(device) ?? 0) * layersIn(own)) / layersIn(all);
      },
      hop: (from, to) => hopSeconds(costs, { relays: relaysOf(plan), indices }, from, to),
    };
  };
  const known = new Map<string, PassTimes>();
  function* busy(device: string, lane: Lane, name: string, seconds: number): Steps {
    if (seconds === 0) return;
    const start = simulation.now;
    yield hold(seconds);
    const cause = lane === 'link' ? 'link' : 'memory';
    recorder.span({ device, lane, cause, name, start, end: simulation.now, args: {} });
  }
  /** The windows of a device that a pass has been through. */
  const isLast = (stop: Stop): boolean =>
    path.findLast(({ device, output }) => device === stop.device && !output) === stop;
  function* visit(stop: Stop, pass: ExpertPass, times: PassTimes): Steps {
    const member = byName.get(stop.device);
    const { processor } = stop.output ? plan.output : (stop.stages[0] ?? plan.output);
    if (member === undefined) {
      const name = stop.output ? 'output layer' : 'a window';
      if (stop.output || stop.stages.length > 0)
        yield* busy(stop.device, processor, name, stop.output ? times.output : times.window(stop));
      return;
    }
    for (const [layer, place] of member.layers.entries())
      if (stop.stages.some(({ from, to }) => place >= from && place < to))
        yield* runExpertLayer(member.passes, pass, layer);
    if (stop.device === head ? stop.output : isLast(stop)) yield* endExpertPass(member.passes, pass);
  }
  return {
    devices: whole.devices.map(({ device }) => {
      const { gpu } = cluster.devices.find(({ name }) => name === device) ?? {};
      return { name: device, lanes: ['cpu', ...(gpu === undefined ? [] : ['gpu' as const]), 'disk', 'link'] };
    }),
    infeasible: whole.infeasible.filter(({ device }) => !byName.has(device)),
    *pass(phase, tokens, from) {
      const key = `${phase}/${tokens.tokens}`;
      const times = known.get(key) ?? timesOf(phase, tokens.tokens);
      known.set(key, times);
      let at = head;
      for (const stop of path) {
        if (stop.device !== at) yield* busy(at, 'link', `to ${stop.device}`, times.hop(at, stop.device));
        at = stop.device;
        const member = byName.get(at);
        const prompt = member?.passes.one.prompt;
        const seconds = phase === 'prefill' ? prompt : member?.secondsOf(tokens.tokens);
        yield* visit(stop, { tokens, from, seconds: seconds ?? NOTHING }, times);
      }
    },
    resident: () =>
      others.map(({ device, nonReclaimableBytes }) => ({
        ...{ device, cache: NO_PAGES, counters: NO_PAGE_COUNTS, diskSeconds: 0, stallSeconds: 0, nonReclaimableBytes },
        ...{ faultedBytes: 0, prefetchedBytes: 0 },
        memoryTotal: cluster.devices.find(({ name }) => name === device)?.memory.total ?? 0,
      })),
  };
}

/** A device without a policy computes by its predicted seconds. */
const NOTHING: PassSeconds = { layer: 0, expert: 0, other: 0 };

function layersIn(stages: readonly { readonly from: number; readonly to: number }[]): number {
  return stages.reduce((sum, { from, to }) => sum + to - from, 0);
}
