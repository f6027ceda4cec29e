import type { ExpertReads } from '../engine/experts/expert-reads.ts';
import type { ExpertsPolicy } from '../engine/experts/experts-policy.ts';
import { routingRecord } from '../engine/experts/write-routing.ts';
import type { Gguf } from '../engine/gguf/gguf.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import type { KvFormat } from '../engine/model/kv-format.ts';
import type { Model } from '../engine/model/model.ts';
import type { GpuPaging } from '../engine/runtime/kv/gpu-pages.ts';
import { type KvPaging, loadTransformer } from '../engine/runtime/load/load-transformer.ts';
import { createChoiceRecorder } from '../engine/runtime/load/record-routing.ts';
import { observedRoutes } from '../engine/runtime/observed/observed-routes.ts';
import type { PartTime, Transformer } from '../engine/runtime/pass/transformer.ts';
import { recordTokens } from '../engine/runtime/texts/record-tokens.ts';
import type { RewindableModel } from '../engine/text/conversation.ts';
import type { VerifyingModel } from '../engine/text/generate.ts';
import { createRunRecorder } from '../engine/trace/run-recorder.ts';
import { openRouting } from './expert-options.ts';
import { openSplit } from './open-split.ts';
import type { OutputFile } from './output-file.ts';
import type { GpuRequest } from './place-options.ts';
import { writeReadAheadNotice } from './read-ahead-notice.ts';
import { writeTrace } from './text-output.ts';

export interface ModelRequest {
  readonly file: string;
  readonly gguf: Gguf;
  readonly shape: Model;
  readonly cpu: Kernels;
  /** The GPU that computes some layers; `undefined`: the CPU computes everything. */
  readonly gpu: GpuRequest | undefined;
  /** Whether a GPU’s products round no activations (KernelOptions.exact). */
  readonly exact: boolean | undefined;
  readonly context: number;
  readonly kvCache: KvFormat;
  /** The longest prompt to expect, by which `--gpu-layers auto` decides, tokens. */
  readonly promptTokens: number;
  readonly signal: AbortSignal;
  /** Bytes that the process may take without its drafts; `undefined`: not limited. */
  readonly memory?: number | undefined;
  readonly experts?: Partial<ExpertsPolicy> | undefined;
  readonly packedExperts?: string | undefined;
  /** A record of experts that tokens use whatever routers choose. */
  readonly routing?: string | undefined;
  /** Whether the model’s own block is to draft. */
  readonly predicts: boolean;
  readonly paging?: KvPaging | undefined;
  readonly gpuPaging?: GpuPaging | undefined;
  readonly trace?: OutputFile | undefined;
  readonly onPart?: ((part: PartTime) => void) | undefined;
}

/** A model for one text. */
export interface OpenedModel {
  readonly model: RewindableModel;
  /** The same if it verifies several tokens in a pass. */
  readonly verifying?: (VerifyingModel & Pick<Transformer, 'prediction'>) | undefined;
  readonly expertReads?: ExpertReads | undefined;
  /** Writes the trace if one is wanted, and closes what was opened. */
  close(): void | Promise<void>;
}

/**
 * A model on the processors of this machine that were asked for.
 * @throws InputError as loadTransformer and openSplit do
 */
export async function openModel(request: ModelRequest): Promise<OpenedModel> {
  const { file, gguf, shape, cpu, gpu, exact, context, kvCache, promptTokens, signal } = request;
  if (gpu !== undefined) {
    const asked = { cpu, gpu, exact, model: shape, file, context, kvFormat: kvCache, promptTokens, signal };
    const split = await openSplit({ ...asked, paging: request.gpuPaging }, ({ on }, plan, onLayer) =>
      on(plan, onLayer),
    );
    if (split !== undefined) return { model: split.result, close: split.close };
  }
  const { memory, experts, packedExperts, paging, trace, predicts, onPart } = request;
  const begin = performance.now() / 1000;
  const recorder = trace === undefined ? undefined : createRunRecorder('this machine', begin);
  const routing = openRouting(request.routing, shape);
  const layers = shape.kinds.filter(({ feedForward }) => feedForward?.kind === 'experts').length;
  // A replayed routing is on record already.
  const choices =
    recorder === undefined || layers === 0 || routing !== undefined ? undefined : createChoiceRecorder(layers);
  if (memory === undefined && experts === undefined) writeReadAheadNotice(file, shape);
  const loaded = loadTransformer(file, {
    gguf,
    kernels: choices === undefined ? cpu : observedRoutes(cpu, choices.observe),
    ...{ context, kvCache, memory, experts, packedExperts, predicts, routing, paging, recorder },
    ...(onPart === undefined ? {} : { onPart }),
  });
  const model = recorder === undefined ? loaded : recordTokens(loaded, promptTokens, recorder);
  const close = () => {
    if (recorder === undefined || trace === undefined) return;
    const chosen = choices?.routing();
    const record = chosen === undefined ? undefined : routingRecord(shape.name, chosen);
    writeTrace(trace, recorder.trace(), { routing: record });
  };
  return { model, verifying: model, expertReads: loaded.expertReads, close };
}
