import type { FieldAccuracy } from '../datasets/field.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { type Device, isDiscrete } from '../engine/hardware/device.ts';
import type { RunnableAnswer } from '../planner/answer.ts';

type Kind = Pick<FieldAccuracy, 'processor' | 'several'>;

const KIND_NAMES: Readonly<Record<FieldAccuracy['processor'], string>> = {
  metal: 'Apple GPUs',
  discrete: 'GPUs with their own memory',
  integrated: 'GPUs that share the RAM',
  cpu: 'CPUs',
  npu: 'NPUs',
};

/**
 * How far predictions for such a plan have been off what others measured (`npm run field`), or that it is unknown: weights that
 * are read from disks, and rings, have no measurements on file.
 */
export function accuracyText(
  { plan, status }: RunnableAnswer,
  cluster: Cluster,
  known: readonly FieldAccuracy[],
): string {
  if (status === 'from-disk') return 'unknown where weights are read from disks: no measurements of others are on file';
  const kind = kindOf(plan, cluster);
  const own = known.filter(({ processor, several }) => processor === kind?.processor && several === kind.several);
  if (kind === undefined || own.length === 0) return 'unknown for such a plan: no measurements of others are on file';
  const where = `${KIND_NAMES[kind.processor]}${kind.several ? ' of several machines' : ''}`;
  const parts = own.map(
    ({ phase, median, ninetieth, cells, machines }) =>
      `${phase === 'decode' ? 'tokens' : 'prompts'} off by ${(100 * (median - 1)).toFixed(0)} % in the median, 90 % within × ${ninetieth.toFixed(2)} (${cells} measurements of ${machines} machines)`,
  );
  return `on ${where}, by specification: ${parts.join('; ')}`;
}

/** The kind of processor that computes the most of a plan, as measurements by others are sorted; `undefined` for rings. */
function kindOf(plan: RunnableAnswer['plan'], { devices }: Cluster): Kind | undefined {
  if (plan.kind === 'chip') return { processor: 'npu', several: false };
  const names = new Set(plan.stages.map(({ device }) => device));
  const several = names.size > 1;
  if (several && plan.kind !== 'tensor-parallel') return undefined;
  const own = devices.filter(({ name }) => names.has(name));
  const usesGpu = plan.stages.some(({ processor }) => processor === 'gpu');
  const kinds = new Set(own.map((device) => (usesGpu ? gpuKind(device) : 'cpu')));
  const [processor] = kinds;
  return processor === undefined || kinds.size > 1 ? undefined : { processor, several };
}

function gpuKind({ gpu, os }: Device): FieldAccuracy['processor'] {
  if (isDiscrete(gpu)) return 'discrete';
  return os === 'macos' ? 'metal' : 'integrated';
}
