import { infeasibility } from '../../engine/cost/breakdown.ts';
import { type PlannedExperts, plannedExperts } from '../../engine/cost/experts/case-of-plan.ts';
import type { PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import { drawnRouting } from '../../engine/experts/drawn-routings.ts';
import { GUESSES_SEED } from '../../engine/experts/hit-rates.ts';
import { layersOf, type Routing, routingShape } from '../../engine/experts/routing.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { RingPlan, SplitPlan } from '../../engine/plan/plan.ts';
import { expertLayersOf } from '../../engine/plan/validate-experts.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import { DEFAULT_SEED, type SimulationParts } from '../options.ts';
import type { SimulatedDevice, SimulationResult } from '../result.ts';
import { type ExpertPasses, fillWithTokens, NO_PAGE_COUNTS, NO_PAGES, openExpertPasses } from './expert-passes.ts';
import { createExpertRing, type ExpertMember } from './expert-ring.ts';
import { runExpertTexts } from './expert-texts.ts';

/** Tokens of a routing that is drawn, before it begins anew. */
const DRAWN_TOKENS = 256;

/** Options that a simulation of experts doesn't know. */
const UNKNOWN = ['frames', 'paging', 'noise', 'memoryTaken', 'files', 'times'] as const;

/** Whether an option asks for something: 0 and nothing at all don't. */
function isAsked(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : value !== 0 && value !== undefined;
}

/**
 * Simulates a plan whose devices cache and read experts, each in a memory of its own; those without a policy have all their
 * weights in memory. The context is the workload's at every token.
 * @throws InputError for a routing of another shape, an option that isn't simulated with experts, and a device that reads
 * weights from its disk though no policy says how
 */
export function simulatePlannedExperts(
  parts: SimulationParts & { readonly plan: SplitPlan | RingPlan },
): SimulationResult {
  const { cluster, model, plan, workload, runtime, seed = DEFAULT_SEED, throttle, record = 'spans', isEnough } = parts;
  for (const option of UNKNOWN)
    if (isAsked(parts[option]) && parts[option] !== 'whole')
      throw new InputError(option, 'is not simulated for a plan that says how experts are cached; leave it out');
  const plannedFor = known((verifiedTokens: number) =>
    plannedExperts({ plan, cluster, model, workload, runtime, verifiedTokens }),
  );
  const { promptTokens, outputTokens, batch } = workload;
  const { speculation } = parts;
  if (parts.routing !== undefined) checkRouting(parts.routing, model);
  const recorder = createRecorder({ spans: record === 'spans' });
  const { spans, tokens, counters } = recorder;
  const simulation = createSimulation();
  const members = plannedFor(1).map((planned, index): ExpertMember => {
    const { device, one } = planned;
    const routing = routingOf(planned, parts.routing, seed + index);
    const passes = { simulation, recorder, device, one, routing, seed: GUESSES_SEED, throttle };
    const decoding = (verified: number): PassSeconds => (plannedFor(verified)[index] as PlannedExperts).one.seconds;
    return { layers: planned.layers, passes: openExpertPasses(passes), secondsOf: decoding };
  });
  const ring = createExpertRing({ cluster, model, plan, workload, runtime, members, simulation, recorder });
  const trace = { devices: ring.devices, spans, tokens, counters };
  const outOfMemory = [
    ...ring.infeasible,
    ...members.flatMap(({ passes: { device, one, shares } }) =>
      shares.shortage === undefined
        ? []
        : [
            infeasibility(
              ...([
                device,
                'ram',
                `experts: ${shares.shortage};`,
                fixedBytes(one, shares),
                one.memory.available,
              ] as const),
            ),
          ],
    ),
  ];
  if (outOfMemory.length > 0) return { outOfMemory, trace, devices: [], seconds: 0 };
  if (parts.warm) for (const { passes } of members) fillWithTokens(passes);
  const texts = runExpertTexts({
    ...{ simulation, recorder, device: plan.output.device, promptTokens, outputTokens, isEnough, pass: ring.pass },
    together: { texts: batch, tokens: 1 },
    ...(speculation && { drafts: { speculation, seed } }),
  });
  simulation.run(simulation.spawn('request', texts));
  const devices = [...members.map((member) => simulatedDevice(member, parts)), ...ring.resident()];
  return { outOfMemory: [], trace, seconds: simulation.now, devices };
}

/** @throws InputError for a routing of other layers or experts than the model's */
export function checkRouting({ layers, experts, used }: Routing, model: Model): void {
  const own = expertLayersOf(model, 0, model.layers);
  if (layers !== own.layers || experts !== own.experts || used !== own.used)
    throw new InputError(
      'routing',
      `has ${routingShape({ layers, experts, used })}; ${model.name} has ${routingShape(own)}`,
    );
}

/**
 * The part of a known routing that concerns a device's layers, or one that is drawn for them. The latter begins in the middle of
 * what was drawn: the first tokens had few before them to copy from, and their experts come again more often than others.
 */
function routingOf({ one, places, routing }: PlannedExperts, known: Routing | undefined, seed: number): Routing {
  if (known !== undefined) return layersOf(known, places);
  const { layers, used } = one.mixture;
  return fromMiddle(drawnRouting(routing, { tokens: DRAWN_TOKENS, layers, used, seed }));
}

/** A routing whose second half comes first. */
function fromMiddle(routing: Routing): Routing {
  const { chosen } = routing;
  const middle = chosen.length >> 1;
  const turned = new Uint16Array(chosen.length);
  turned.set(chosen.subarray(middle));
  turned.set(chosen.subarray(0, middle), chosen.length - middle);
  return { ...routing, chosen: turned };
}

/** Bytes of memory that can't be reclaimed. */
function fixedBytes({ memory, mixture }: ExpertPasses['one'], { allSlots }: ExpertPasses['shares']): number {
  const own = memory.buffers + allSlots * mixture.expertBytes;
  return own + (memory.dense === 'anonymous' ? mixture.denseBytes : 0);
}

function simulatedDevice({ passes }: ExpertMember, { cluster }: SimulationParts): SimulatedDevice {
  const { device, one, shares, store, totals } = passes;
  const guessedBytes = store.counts.guessed * one.mixture.expertBytes;
  return {
    ...{ device, cache: store.pages?.usage() ?? NO_PAGES, counters: store.pages?.counters() ?? NO_PAGE_COUNTS },
    ...{ diskSeconds: store.bus.busySeconds(), stallSeconds: totals.waited },
    nonReclaimableBytes: fixedBytes(one, shares),
    memoryTotal: cluster.devices.find(({ name }) => name === device)?.memory.total ?? 0,
    faultedBytes: store.counts.bytes + store.counts.denseBytes - guessedBytes,
    prefetchedBytes: guessedBytes,
  };
}

/** A function of a number whose values are computed once. */
function known<Value>(of: (count: number) => Value): (count: number) => Value {
  const values = new Map<number, Value>();
  return (count) => {
    const value = values.get(count) ?? of(count);
    values.set(count, value);
    return value;
  };
}
