import type { Command } from 'commander';
import { InputError } from '../engine/input/input-error.ts';
import { type CpuExperts, type CpuExpertsTexts, type GpuLayers, readCpuExperts, readGpuLayers } from './gpu-layers.ts';
import { addRingOptions, type RingOptions, type RingRequest, readRingRequest } from './ring-request.ts';
import { OPTIONS } from './shared-options.ts';

/** The place where a model runs: a GPU, a ring, or, if neither is given, the CPU of this machine. */
export interface Place {
  readonly gpu: GpuRequest | undefined;
  readonly ring: RingRequest | undefined;
}

/** Layers that a GPU of this machine computes. */
export interface GpuRequest {
  /** The last ones, with the output. */
  readonly layers: GpuLayers;
  /** Layers whose experts are on the CPU all the same; `undefined`: none. */
  readonly cpuExperts: CpuExperts | undefined;
  /** The GPU, by its name or a part of it; `undefined`: the fastest. */
  readonly device: string | undefined;
  /** The profile by which `auto` decides; `undefined`: the machine is measured. */
  readonly profile: string | undefined;
}

/** The options as commander passes them. */
export interface PlaceTexts extends RingOptions, CpuExpertsTexts {
  readonly gpuLayers?: string;
}

/** Other options by flag, with what was given for them, that not every place has. */
export interface PlaceRules {
  /** Options that work on the CPU only. */
  readonly onCpu: Readonly<Record<string, unknown>>;
  /** Options that work on a single machine only. */
  readonly onOneMachine: Readonly<Record<string, unknown>>;
  /** Attributes of those that are about a ring, in addition to RING_ONLY. */
  readonly inRing?: readonly string[];
}

/** Adds the options of where a model runs; those of `--memory` and of drafts are the command's. */
export function addPlaceOptions(command: Command): Command {
  command.addOption(OPTIONS.gpuLayers).addOption(OPTIONS.cpuMoe).addOption(OPTIONS.nCpuMoe);
  return addRingOptions(command);
}

/** Options that say where a ring is, and those that are about one. */
const RING_PLACES = ['cluster', 'worker'];
const RING_ONLY = [
  ...['keys', 'plain', 'plan', 'scheduler', 'activations', 'chunk', 'maxPressure'],
  ...['prefetch', 'release', 'linkDelay', 'measure'],
];

/**
 * Reads the options of where a model runs.
 * @param needsRing whether the command is about a ring alone
 * @throws InputError for options of a place that isn't asked for, and for others that it lacks
 */
export function readPlace(options: PlaceTexts, called: Command, rules: PlaceRules, needsRing = false): Place {
  const isGiven = (name: string): boolean => called.getOptionValueSource(name) === 'cli';
  if (needsRing || RING_PLACES.some(isGiven)) {
    const { gpuLayers, cpuMoe, nCpuMoe } = options;
    const ofGpu = firstGiven({ '--gpu-layers': gpuLayers, '--cpu-moe': cpuMoe, '--n-cpu-moe': nCpuMoe });
    if (ofGpu !== undefined)
      throw new InputError(ofGpu, 'is about this machine alone; in a ring --plan says what GPUs compute');
    const local = firstGiven(rules.onOneMachine);
    if (local !== undefined) throw new InputError(local, 'works on one machine alone; leave it out in a ring');
    return { gpu: undefined, ring: readRingRequest(options) };
  }
  const lone = [...RING_ONLY, ...(rules.inRing ?? [])].find(isGiven);
  if (lone !== undefined) {
    const flag = called.options.find((option) => option.attributeName() === lone)?.long ?? lone;
    throw new InputError(flag, 'is about a ring; give its devices by --worker or --cluster, or leave it out');
  }
  return { gpu: readGpu(options, rules), ring: undefined };
}

/** @throws InputError for options of a GPU where none is asked for, and for what only the CPU does */
function readGpu(options: PlaceTexts, { onCpu }: PlaceRules): GpuRequest | undefined {
  const { gpuLayers, device, profile } = options;
  const problem = 'is about a ring or a GPU; give --worker or --cluster, or';
  if (device !== undefined && gpuLayers === undefined)
    throw new InputError('--device', `${problem} --gpu-layers, or leave it out`);
  if (profile !== undefined && gpuLayers !== 'auto')
    throw new InputError('--profile', `${problem} --gpu-layers auto, or leave it out`);
  const cpuExperts = readCpuExperts(options, gpuLayers);
  if (gpuLayers === undefined) return undefined;
  const alone = firstGiven(onCpu);
  if (alone !== undefined) throw new InputError(alone, 'works on the CPU alone; leave --gpu-layers out');
  const layers = readGpuLayers(gpuLayers);
  return layers === 0 ? undefined : { layers, cpuExperts, device, profile };
}

function firstGiven(options: Readonly<Record<string, unknown>>): string | undefined {
  return Object.entries(options).find(([, value]) => value !== undefined)?.[0];
}
