import { type ExpertLoad, requestBytes, resultBytes } from '../experts/expert-traffic.ts';
import { type Cluster, deviceIndex } from '../hardware/cluster.ts';
import { type ProcessorRates, transferSeconds } from '../hardware/device.ts';
import type { Model, WeightGroup } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { ExpertHolder, ExpertParallelPlan } from '../plan/plan.ts';
import { expertGroup, expertTable, expertWidth } from './crossed-experts.ts';
import { type LayerSeconds, reservedKvBytes } from './layer-seconds.ts';
import { generatedProductSeconds, promptProductSeconds } from './products.ts';
import type { Runtime } from './runtime.ts';

/** A device of a plan that divides experts; the head is one even if it holds none. */
export interface ExpertDevice extends ExpertHolder {
  /** Index in the cluster. */
  readonly index: number;
  readonly isHead: boolean;
}

/** The devices of a plan that divides experts, the head first and then in the plan's order. */
export function expertDevices({ embedding, holders }: ExpertParallelPlan, cluster: Cluster): ExpertDevice[] {
  const head = embedding.device;
  const own = holders.find(({ device }) => device === head);
  const none = { device: head, experts: (holders[0]?.experts ?? []).map(() => []) };
  return [own ?? none, ...holders.filter(({ device }) => device !== head)].map((holder) => ({
    ...holder,
    index: deviceIndex(cluster, holder.device),
    isHead: holder.device === head,
  }));
}

/** The work of a device in one layer of a pass. */
export interface HeldLoad extends ExpertLoad {
  /** Different experts, each of which is read once. */
  readonly experts: number;
  readonly phase: 'prefill' | 'decode';
}

/**
 * Seconds of a device for its part of a layer's experts: each is read once, and multiplied with the tokens that chose it, as many
 * for each as for others. A device other than the head also dispatches them; for the head this is counted with its layer.
 */
export function heldExpertSeconds(
  model: Model,
  { experts, choices, phase }: HeldLoad,
  { cpu, isHead }: { readonly cpu: ProcessorRates; readonly isHead: boolean },
): LayerSeconds {
  if (experts === 0) return { compute: 0, kvCopy: 0, memory: 0, overhead: 0 };
  const one = oneExpert(model);
  const each = choices / experts;
  const products = phase === 'prefill' ? promptProductSeconds(one, each, cpu) : generatedProductSeconds(one, each, cpu);
  const { bandwidth, activationBandwidth, dispatch = 0 } = cpu;
  const values = activationBandwidth === undefined ? 0 : (4 * innerValues(model) * choices) / activationBandwidth;
  return {
    compute: experts * products,
    kvCopy: 0,
    memory: (experts * one.bytes) / bandwidth,
    overhead: values + (isHead ? 0 : dispatch),
  };
}

/** Seconds of the messages to a device and back; 0 on the head. */
export function expertLinkSeconds(
  load: ExpertLoad,
  { cluster, head, device, rowBytes }: { cluster: Cluster; head: number; device: number; rowBytes: number },
): number {
  if (load.rows === 0 || head === device) return 0;
  return (
    transferSeconds(cluster.link(head, device), requestBytes(load, rowBytes)) +
    transferSeconds(cluster.link(device, head), resultBytes(load, rowBytes))
  );
}

const ones = new WeakMap<Model, WeightGroup>();

/** One expert of a layer, in the mean over layers that have some. */
function oneExpert(model: Model): WeightGroup {
  const found = ones.get(model);
  if (found !== undefined) return found;
  const { routed, flops } = expertGroup(model);
  const [{ used, experts } = { used: 1, experts: 1 }] = routed;
  const bytes = routed.reduce((sum, group) => sum + group.bytes, 0) / experts;
  const one = { bytes, routed: [], flops: new Map([...flops].map(([format, part]) => [format, part / used])) };
  ones.set(model, one);
  return one;
}

/** Inner values of one expert. */
function innerValues(model: Model): number {
  const [{ used } = { used: 1 }] = model.layer.routed;
  return expertWidth(model).width / used;
}

/** Bytes of RAM that a device holds under a plan that divides experts; nothing of it can be reclaimed. */
export interface HeldMemory {
  /** Its experts, and on the head what every token uses: once the embedding and output matrices if they are tied. */
  readonly weights: number;
  /** On the head the KV cache, with room for the reserved context; and the runtime's buffers. */
  readonly fixed: number;
}

export function heldMemory(
  { experts, isHead }: Pick<ExpertDevice, 'experts' | 'isHead'>,
  { model, workload, runtime }: { readonly model: Model; readonly workload: Workload; readonly runtime: Runtime },
): HeldMemory {
  const bytes = expertBytesByLayer(model);
  const own = experts.reduce((sum, list, layer) => sum + list.length * (bytes[layer] as number), 0);
  if (!isHead) return { weights: own, fixed: runtime.cpuBufferBytes };
  const always = model.layers * model.layer.bytes - expertTable(model).bytes(0, model.layers);
  const ends = model.output.bytes + (model.tiedEmbeddings ? 0 : model.embedding.bytes);
  return {
    weights: own + always + ends,
    fixed: model.layers * reservedKvBytes(model, workload) + runtime.cpuBufferBytes,
  };
}

/** Bytes of one expert, by layer with experts. */
export function expertBytesByLayer(model: Model): number[] {
  const table = expertTable(model);
  return model.kinds.flatMap(({ feedForward }, layer) =>
    feedForward?.kind === 'experts' ? [table.bytes(layer, layer + 1) / feedForward.router.experts] : [],
  );
}
