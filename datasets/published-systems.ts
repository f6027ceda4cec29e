import { findPublished, type PublishedCell, publishedSeconds } from './published.ts';

/** What a plan was made of, as far as it decides what it can be compared with. */
export interface PublishedQuery {
  /** Scheduler's name. */
  readonly scheduler: string;
  readonly cluster: string;
  readonly model: string;
}

/** A published TPOT, or the outcome that a paper prints in its place. */
export interface PublishedTpot {
  readonly cell: PublishedCell;
  readonly seconds: number | undefined;
}

/** The system of a paper that divides layers as a scheduler does. */
const SYSTEMS: Readonly<Record<string, string>> = {
  halda: 'prima.cpp',
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

/** llama.cpp's cells carry the device that it ran on, which is the head of the cluster here. */
const ONE_DEVICE: Readonly<Record<string, string>> = {
  'prima-home': 'prima-home-d3',
  'prima-a4': 'prima-a4-laptop',
  'prima-a5': 'prima-a5-one',
  'prima-a9': 'prima-a9',
};

/** Variants of a testbed, for which the paper has the same cells. */
const SAME_TESTBED: Readonly<Record<string, string>> = { 'prima-home-metal': 'prima-home' };

/** The system whose published TPOT a scheduler's plans are held against; undefined where no paper ran the like. */
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
