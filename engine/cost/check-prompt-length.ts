import { InputError } from '../input/input-error.ts';
import type { Workload } from '../model/workload.ts';
import type { TensorPartition } from '../plan/tensor-partition.ts';

/** @throws InputError for a prompt of another length than operators are cut for */
export function checkPromptLength(workload: Workload, { promptTokens }: TensorPartition): void {
  if (workload.promptTokens === promptTokens) return;
  const found = `is ${workload.promptTokens}, but the plan cuts a prompt of ${promptTokens}`;
  throw new InputError('workload.promptTokens', `${found}; make a plan for this one`);
}
