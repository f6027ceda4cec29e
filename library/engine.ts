/**
 * `@hearth-workbench/hearth/engine`: models that run on this machine, the solver of schedulers with integer programs,
 * and the clusters and models on file. Node only.
 */

export { clusterKeys, createNamedModel, loadCatalogue, loadCluster, loadDevices } from '../datasets/load.ts';
export { withFile } from '../engine/gguf/file-source.ts';
export { type RandomStream, randomStream } from '../engine/input/random-stream.ts';
export type { Kernels } from '../engine/kernels/kernels.ts';
export { type KernelOptions, openKernels } from '../engine/kernels/open-kernels.ts';
export { type LoadOptions, loadTransformer } from '../engine/runtime/load/load-transformer.ts';
export type { Transformer } from '../engine/runtime/pass/transformer.ts';
export { type IntegerSolver, loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
export { SCHEDULER_NAMES, SCHEDULERS, type SchedulerName } from '../engine/schedule/registry.ts';
export { type Generated, type GenerateOptions, generate } from '../engine/text/generate.ts';
export { loadTokenizer } from '../engine/text/load-tokenizer.ts';
export { createSampler, SAMPLER_DEFAULTS, type Sampler, type SamplerOptions } from '../engine/text/sampling/sampler.ts';
export type { Tokenizer } from '../engine/text/tokenizer.ts';
