import { findPublished, type PublishedCell, publishedSeconds } from './published.ts';

/** Purpose and maker of a plan: they decide which published cell it can be compared with. */
export interface PublishedQuery {
  /** Scheduler's name. */
  readonly scheduler: string;
  readonly cluster: string;
  readonly model: string;
}

/** A published TPOT in seconds; undefined where the paper prints an outcome in its place. */
export interface PublishedTpot {
  readonly cell: PublishedCell;
  readonly seconds: number | undefined;
}

/** The paper's system that divides layers as a scheduler does. */
const SYSTEMS: Readonly<Record<string, string>> = {
  halda: 'prima.cpp',
  'halda-program': 'prima.cpp',
  'halda-repaired': 'prima.cpp',
  optimal: 'prima.cpp',
  milp: 'prima.cpp',
  'memory-ratio': 'prima.cpp-no-halda',
  'compute-ratio': 'perfsched',
  'single-device': 'llama.cpp',
  'cpu-gpu-split': 'helm',
  exo: 'exo',
  dllama: 'dllama',
  'zero-inference': 'deepspeed',
  accelerate: 'accelerate',
};

/** Cells of llama.cpp name the device that it ran on: here the cluster whose head that is. */
const ONE_DEVICE: Readonly<Record<string, string>> = {
  'prima-home': 'prima-home-d3',
  'prima-a4': 'prima-a4-laptop',
  'prima-a5': 'prima-a5-one',
  'prima-a9': 'prima-a9',
};

/** Variants of a testbed, to which the paper's cells apply as well. */
const SAME_TESTBED: Readonly<Record<string, string>> = { 'prima-home-metal': 'prima-home' };

/** The system whose published TPOT a scheduler's plans are compared with; undefined if no paper measured one. */
export function publishedSystem(scheduler: string): string | undefined {
  return SYSTEMS[scheduler];
}

/** The published TPOT for a plan: measured before derived, newest paper first. */
export function publishedTpot(cells: readonly PublishedCell[], query: PublishedQuery): PublishedTpot | undefined {
  const system = publishedSystem(query.scheduler);
  if (system === undefined) return undefined;
  const testbed = SAME_TESTBED[query.cluster] ?? query.cluster;
  const cluster = system === 'llama.cpp' ? ONE_DEVICE[testbed] : testbed;
  if (cluster === undefined) return undefined;
  const cell = findPublished(cells, { cluster, model: query.model, system, metric: 'tpot' })[0];
  return cell && { cell, seconds: publishedSeconds(cell) };
}
