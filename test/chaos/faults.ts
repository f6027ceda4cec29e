import { spawn } from 'node:child_process';
import { copyFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import type { DeviceControls } from './ground.ts';
import { pause } from './process.ts';
import type { ChaosRing, DeviceName, WorkerName } from './ring.ts';

/** Moments of a request at which a fault strikes. */
export const PHASES = ['start', 'profile', 'plan', 'prefill', 'decode', 'replan'] as const;
export type Phase = (typeof PHASES)[number];

/** How a fault leaves a device; the end of the episode repairs it. */
export interface Struck {
  /** Undoes lasting effects: a stop, a cut, a limit. */
  readonly undo: () => void;
  /** Whether the device must be started anew: its process is gone, or its file has changed. */
  readonly spent: boolean;
}

export interface FaultKind {
  readonly what: string;
  /** Whether it needs namespaces and control groups. */
  readonly needsControls: boolean;
  /** `head`: it strikes the process of the request, `worker`: one of the others. */
  readonly strikes: 'head' | 'worker';
  /**
   * Whether the device can't take part any more, so that the head has to name it, unless the request ends first. Slow
   * devices and links, and files that are read again only later, may go unnoticed.
   */
  readonly loses: boolean;
  /** Whether it leaves its device's process as it was: it may strike the worker whose memory is watched. */
  readonly spares: boolean;
  strike(ring: ChaosRing, victim: DeviceName, requests: ProcessOf): Promise<Struck>;
}

/** The process of a device: a worker's, or that of the request under way. */
export type ProcessOf = (name: DeviceName) => { readonly pid: number; signal(name: NodeJS.Signals): void };

const GONE: Struck = { undo() {}, spent: true };
/** Bits per second of a bad link: packets wait for tens of milliseconds, and what exceeds its queue is lost. */
const BAD_LINK = 4e6;
/** Bytes per second of a bad disk; a token needs 2 MB of every device. */
const BAD_DISK = 4e6;
/** Bytes that are left of a full memory. */
const LAST_BYTES = 2 ** 23;
const AFTER_KILL = 0.2;

function controlsOf(ring: ChaosRing, victim: DeviceName): DeviceControls {
  const index = ['head', 'one', 'two', 'three'].indexOf(victim);
  const controls = ring.ground.devices[index]?.controls;
  if (controls === undefined) throw new Error('this fault needs controls');
  return controls;
}

export const FAULTS = {
  kill: {
    what: 'SIGKILL of a worker',
    needsControls: false,
    strikes: 'worker',
    loses: true,
    spares: false,
    async strike(_, victim, processOf) {
      processOf(victim).signal('SIGKILL');
      return GONE;
    },
  },
  stop: {
    what: 'SIGSTOP of a worker',
    needsControls: false,
    strikes: 'worker',
    loses: true,
    spares: true,
    async strike(_, victim, processOf) {
      const stopped = processOf(victim);
      stopped.signal('SIGSTOP');
      return { undo: () => stopped.signal('SIGCONT'), spent: false };
    },
  },
  hang: {
    what: 'a worker’s main thread hangs, its other threads go on',
    needsControls: false,
    strikes: 'worker',
    loses: true,
    spares: true,
    strike: async (ring, victim) => ({ undo: ring.hang(ring.worker(victim as WorkerName)), spent: false }),
  },
  twice: {
    what: 'a worker sends each result twice',
    needsControls: false,
    strikes: 'worker',
    loses: true,
    spares: true,
    strike: async (ring, victim) => ({ undo: ring.lie(victim as WorkerName, 'twice'), spent: false }),
  },
  late: {
    what: 'a worker sends its results two seconds late',
    needsControls: false,
    strikes: 'worker',
    loses: false,
    spares: true,
    strike: async (ring, victim) => ({ undo: ring.lie(victim as WorkerName, 'late'), spent: false }),
  },
  never: {
    what: 'a worker sends no results, until it is killed for it',
    needsControls: false,
    strikes: 'worker',
    loses: false,
    spares: false,
    async strike(ring, victim, processOf) {
      const end = ring.lie(victim as WorkerName, 'never');
      return {
        undo() {
          end();
          processOf(victim).signal('SIGKILL');
        },
        spent: true,
      };
    },
  },
  restart: {
    what: 'a worker is killed and started again at once',
    needsControls: false,
    strikes: 'worker',
    loses: true,
    spares: false,
    async strike(ring, victim, processOf) {
      processOf(victim).signal('SIGKILL');
      await pause(AFTER_KILL);
      const returned = ring.restart(victim as WorkerName).catch(() => {});
      return { undo: () => void returned, spent: true };
    },
  },
  truncate: {
    what: 'a worker’s model file is cut in half',
    needsControls: false,
    strikes: 'worker',
    loses: true,
    spares: false,
    async strike(ring, victim) {
      truncateSync(ring.modelOf(victim), 4_000_000);
      return GONE;
    },
  },
  replace: {
    what: 'a worker’s model file is replaced by one of the same header',
    needsControls: false,
    strikes: 'worker',
    loses: false,
    spares: false,
    async strike(ring, victim) {
      copyFileSync(ring.otherModel, `${ring.modelOf(victim)}.new`);
      renameSync(`${ring.modelOf(victim)}.new`, ring.modelOf(victim));
      return GONE;
    },
  },
  'two-heads': {
    what: 'a second head wants the same workers',
    needsControls: false,
    strikes: 'worker',
    loses: false,
    spares: true,
    async strike(ring) {
      const second = ring.request({ profiles: false, drops: false });
      return { undo: () => second.signal('SIGKILL'), spent: false };
    },
  },
  'kill-head': {
    what: 'SIGKILL of the head',
    needsControls: false,
    strikes: 'head',
    loses: false,
    spares: true,
    async strike(_, victim, processOf) {
      processOf(victim).signal('SIGKILL');
      return { undo() {}, spent: false };
    },
  },
  'stop-head': {
    what: 'SIGSTOP of the head',
    needsControls: false,
    strikes: 'head',
    loses: false,
    spares: true,
    async strike(_, victim, processOf) {
      const stopped = processOf(victim);
      stopped.signal('SIGSTOP');
      return { undo: () => stopped.signal('SIGCONT'), spent: false };
    },
  },
  cut: {
    what: 'a device is off the network',
    needsControls: true,
    strikes: 'worker',
    loses: true,
    spares: true,
    async strike(ring, victim) {
      const { link } = controlsOf(ring, victim);
      link(false);
      return { undo: () => link(true), spent: false };
    },
  },
  lossy: {
    what: 'a slow link that delays packets and loses those that exceed its queue',
    needsControls: true,
    strikes: 'worker',
    loses: false,
    spares: true,
    async strike(ring, victim) {
      const { shape } = controlsOf(ring, victim);
      shape(BAD_LINK);
      return { undo: () => shape(undefined), spent: false };
    },
  },
  'slow-disk': {
    what: 'weights are read for every token from a disk that becomes slow',
    needsControls: true,
    strikes: 'worker',
    loses: false,
    spares: true,
    async strike(ring, victim) {
      const { throttle } = controlsOf(ring, victim);
      throttle(BAD_DISK);
      return { undo: () => throttle(undefined), spent: false };
    },
  },
  'full-memory': {
    what: 'a device’s memory is used up, and its worker is killed for it',
    needsControls: true,
    strikes: 'worker',
    loses: true,
    spares: false,
    async strike(ring, victim, processOf) {
      const controls = controlsOf(ring, victim);
      const { joins } = ring.ground.devices[['head', 'one', 'two', 'three'].indexOf(victim)] ?? { joins: [] };
      writeFileSync(`/proc/${processOf(victim).pid}/oom_score_adj`, '1000');
      controls.limitMemory(controls.memoryBytes() + LAST_BYTES);
      const joined = joins.map((file) => `echo $$ > ${file} && `).join('');
      // Takes memory without end, but only after the worker has none left.
      const hog = spawn('sh', ['-c', `${joined}exec tail /dev/zero`], { stdio: 'ignore' });
      return {
        undo() {
          hog.kill('SIGKILL');
          controls.limitMemory(undefined);
        },
        spent: true,
      };
    },
  },
} as const satisfies Record<string, FaultKind>;
export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];
