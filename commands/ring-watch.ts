import { passLoad } from '../engine/cost/mixed-pass.ts';
import { predict } from '../engine/cost/predict.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createWorkload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { activityOf, type DeviceActivity } from '../engine/ring/head/activity.ts';
import type { DeviceHeldMemory } from '../engine/ring/head/inquiries.ts';
import { layoutOf, planRing, type RingLayout } from '../engine/ring/head/planning.ts';
import { clock } from '../engine/ring/wire/clock.ts';
import type { BatchLoad } from '../engine/runtime/batch/batch-engine.ts';
import type { RingEvent, RingState } from '../engine/server/ring-state.ts';
import type { OpenedRing } from './open-ring.ts';

/** Milliseconds between looks at the devices. */
const LOOK = 1000;
/** Events that are kept. */
const MOST_EVENTS = 50;
/** Lines about devices that are lost, found again, waited for, or can't go on. */
const ABOUT_DEVICES = /^(lost |continues with |waits for |\S+ is back$|\S+: )/;

const IDLE: DeviceActivity = { computing: 0, waiting: 0, reading: 0, sending: 0 };

export interface RingWatch {
  /** Keeps a line of the ring's log if it is about a device. */
  hear(line: string): void;
  state(): RingState;
  close(): void;
}

/** Looks at a ring once a second: what its devices did since, and what they hold. */
export function watchRing({ head, planning }: OpenedRing, load: () => BatchLoad): RingWatch {
  const events: RingEvent[] = [];
  const names = planning.devices;
  let known: { readonly for: string; readonly layout: RingLayout; readonly seconds: number | null } | undefined;
  let seen = { activity: new Map<string, DeviceActivity>() as ReadonlyMap<string, DeviceActivity>, seconds: 0 };
  let memory: readonly DeviceHeldMemory[] = [];
  let looking = false;
  let since = clock();

  const look = async (): Promise<void> => {
    if (looking || !head.whole) return;
    looking = true;
    try {
      const devices = await head.collectSpans();
      const now = clock();
      seen = { activity: activityOf(devices, since, now), seconds: now - since };
      since = now;
      memory = await head.heldMemory();
    } catch {
      // A device is lost, or busy for long: the next look says more.
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(look, LOOK);

  /** The plan for the devices that are there, and what a token of this many texts at once is predicted to take. */
  const planned = (texts: number) => {
    const present = head.present();
    const key = [texts, ...present].join();
    if (known?.for !== key) {
      try {
        const plan = planRing(planning, present);
        known = { for: key, layout: layoutOf(plan, planning), seconds: predictedSeconds(plan, texts) };
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        known = { for: key, layout: { windows: [], weights: {} }, seconds: null };
      }
    }
    return known;
  };
  const predictedSeconds = (plan: Plan, texts: number): number | null => {
    const truth = planning.scheduling?.cluster;
    if (truth === undefined) return null;
    const workload = createWorkload({ context: planning.context, kvFormat: planning.kvFormat });
    const token = { tokens: 1, position: planning.context - 1, isGenerated: true, isLast: true };
    const pass = passLoad(Array.from({ length: texts }, () => token));
    return predict({ plan, truth, model: planning.model, workload, pass }).tokenSeconds;
  };

  return {
    hear(line) {
      if (!ABOUT_DEVICES.test(line)) return;
      events.push({ at: Date.now(), line });
      if (events.length > MOST_EVENTS) events.shift();
    },
    state() {
      const { running, tokensPerSecond } = load();
      const { layout, seconds: predicted } = planned(Math.max(1, running));
      const present = new Set(head.present());
      const measured = running > 0 && tokensPerSecond > 0;
      return {
        devices: names.map((name) => {
          const own = layout.windows.filter(({ device }) => device === name);
          const gpuLayers = own.reduce((sum, { onGpu = [] }) => sum + onGpu.length, 0);
          const layers = own.reduce((sum, { from, to }) => sum + to - from, 0);
          const held = memory.find(({ device }) => device === name);
          const did = present.has(name) ? (seen.activity.get(name) ?? IDLE) : IDLE;
          return {
            name,
            present: present.has(name),
            cpuLayers: layers - gpuLayers,
            gpuLayers,
            memory: held === undefined ? null : { held: held.measured ?? held.planned, limit: held.limit },
            activity: shares(did, seen.seconds),
          };
        }),
        windows: layout.windows.map(({ device, from, to }) => ({ device, from, to })),
        seconds: seen.seconds,
        predictedSeconds: predicted,
        texts: running,
        measuredSeconds: measured ? running / tokensPerSecond : null,
        events,
      };
    },
    close: () => clearInterval(timer),
  };
}

function shares({ computing, waiting, reading, sending }: DeviceActivity, seconds: number): DeviceActivity {
  const share = (part: number): number => (seconds > 0 ? Math.min(1, part / seconds) : 0);
  return { computing: share(computing), waiting: share(waiting), reading: share(reading), sending: share(sending) };
}
