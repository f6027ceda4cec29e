import type { Plan } from './plan.ts';
import type { TensorPartition } from './tensor-partition.ts';

/** How each chip that a valid plan names cuts its operators between GPU and NPU, by device; empty where none does. */
export function chipPartitions({ stages, output }: Plan): ReadonlyMap<string, TensorPartition> {
  const partitions = new Map<string, TensorPartition>();
  for (const { device, partition } of stages) if (partition !== undefined) partitions.set(device, partition);
  if (output.partition !== undefined) partitions.set(output.device, output.partition);
  return partitions;
}
