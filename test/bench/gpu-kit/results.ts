import { z } from 'zod';
import { InputError } from '../../../engine/input/input-error.ts';
import { parseJson } from '../../../engine/input/parse-json.ts';

/** Number of the form below; another one can't be read. */
const FORM = 1;

const sample = z.object({ median: z.number(), spread: z.number(), repeats: z.number() });
const numbers = z.record(z.string(), z.number());
const times = z.object({ ttft: z.number(), tpot: z.number() });

/** Results of the steps, one after the other. */
const CELLS = {
  device: z.object({
    kind: z.literal('device'),
    adapter: z.string(),
    /** The driver's name and version, as WebGPU has them. */
    driver: z.string(),
    architecture: z.string(),
    software: z.boolean(),
    subgroupSizes: z.tuple([z.number(), z.number()]),
    features: z.array(z.string()),
    language: z.array(z.string()),
    limits: numbers,
    /** The addon's instruction sets on this processor, or why it can't be loaded. */
    addon: z.union([z.array(z.string()), z.string()]),
  }),
  /** A comparison with the reference. */
  check: z.object({
    kind: z.literal('check'),
    name: z.string(),
    agrees: z.boolean(),
    seconds: z.number(),
    found: z.string().optional(),
  }),
  /** A quantity of the GPU's profile. */
  quantity: z.object({
    kind: z.literal('quantity'),
    name: z.string(),
    unit: z.enum(['B/s', 'operations/s', 's', 'B']),
    ...sample.shape,
  }),
  /** A model that was made. */
  model: z.object({
    kind: z.literal('model'),
    model: z.string(),
    mix: z.string(),
    bytes: z.number(),
    seconds: z.number(),
  }),
  /** Engines by turns on one model. */
  contest: z.object({
    kind: z.literal('contest'),
    model: z.string(),
    mix: z.string(),
    discipline: z.enum(['decode', 'prefill']),
    tokens: z.number(),
    /** Tokens per second of every turn, by engine. */
    rates: z.record(z.string(), z.array(z.number())),
    /** Hearth's rate over the limit: bytes per second in decoding, operations per second in prefilling. */
    share: z.number().nullable(),
    limit: z.number().nullable(),
    engines: z.array(z.string()),
  }),
  /** The profile by which splits are predicted and simulated: a cluster file. */
  profile: z.object({ kind: z.literal('profile'), cluster: z.string() }),
  split: z.object({
    kind: z.literal('split'),
    model: z.string(),
    mix: z.string(),
    cpuUnits: z.number(),
    units: z.number(),
    promptTokens: z.number(),
    outputTokens: z.number(),
    threads: z.number(),
    measured: z.object({ ttft: sample, tpot: sample }),
    predicted: times,
    simulated: times,
  }),
  /** Requests that decode together: seconds of a step. */
  batch: z.object({
    kind: z.literal('batch'),
    model: z.string(),
    mix: z.string(),
    requests: z.number(),
    promptTokens: z.number(),
    measured: sample,
  }),
  ring: z.object({
    kind: z.literal('ring'),
    model: z.string(),
    mix: z.string(),
    processes: z.number(),
    promptTokens: z.number(),
    ttft: z.number(),
    tpot: z.number(),
  }),
  /** A mixture with the experts of its first layers on the CPU, all else on the GPU. */
  experts: z.object({
    kind: z.literal('experts'),
    model: z.string(),
    mix: z.string(),
    /** Layers whose experts are on the CPU, of how many. */
    cpuExperts: z.number(),
    layers: z.number(),
    promptTokens: z.number(),
    outputTokens: z.number(),
    threads: z.number(),
    measured: z.object({ ttft: sample, tpot: sample }),
  }),
  /** Something that a step lacks. */
  missing: z.object({ kind: z.literal('missing'), what: z.string(), reason: z.string() }),
} as const;

const cell = z.discriminatedUnion('kind', [
  CELLS.device,
  CELLS.check,
  CELLS.quantity,
  CELLS.model,
  CELLS.contest,
  CELLS.profile,
  CELLS.split,
  CELLS.batch,
  CELLS.ring,
  CELLS.experts,
  CELLS.missing,
]);
export type Cell = z.infer<typeof cell>;

const step = z.object({
  name: z.string(),
  state: z.enum(['running', 'ended', 'cut off', 'failed', 'left out']),
  /** Why it failed or was left out. */
  reason: z.string().optional(),
  seconds: z.number(),
  /** Seconds that it might take. */
  allowed: z.number(),
  cells: z.array(cell),
});
export type StepResults = z.infer<typeof step>;

const results = z.object({
  form: z.literal(FORM),
  hearth: z.object({ version: z.string(), commit: z.string() }),
  begun: z.string(),
  minutes: z.number(),
  machine: z.object({
    processor: z.string(),
    cores: z.number(),
    memory: z.number(),
    system: z.string(),
    glibc: z.string(),
    node: z.string(),
    /** The kernel's driver of the GPU, where it tells its version. */
    driver: z.string().nullable(),
  }),
  steps: z.array(step),
});
/** The file that a run of the box writes: results.json. */
export type GpuResults = z.infer<typeof results>;

export const emptyResults = (origin: Omit<GpuResults, 'form' | 'steps'>): GpuResults => ({
  form: FORM,
  ...origin,
  steps: [],
});

/** Reads results.json. @param file for messages @throws InputError with the first place that has another form */
export function parseGpuResults(text: string, file: string): GpuResults {
  const parsed = results.safeParse(parseJson(text, file));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InputError(
    `${file}: ${issue?.path.join('.')}`,
    `${issue?.message}; results of this version’s box are read`,
  );
}
