import type { Cluster } from '../hardware/cluster.ts';
import { graphLengths, type SocDevice, socDevice } from '../hardware/soc.ts';
import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import { LAYER_OPERATORS, OPERATORS, type OperatorShape, operatorShapes } from '../model/operators.ts';
import type { Plan } from './plan.ts';
import type { OperatorCut, TensorPartition } from './tensor-partition.ts';

/** The most tokens of a prompt: an order of magnitude beyond what models are trained for. */
export const MOST_PROMPT_TOKENS = 1_000_000;

/**
 * Checks what a plan says about operators that GPU and NPU share: one stage of all layers on the GPU of a chip that has
 * an NPU, every operator cut within its rows, prompts within what can be, graphs that are prepared.
 * @throws InputError that says which part is wrong and what it should be
 */
export function validatePartition(plan: Plan, cluster: Cluster, model: Shape, where: string): void {
  const index = plan.stages.findIndex(({ partition }) => partition !== undefined);
  if (index < 0) return;
  const stage = plan.stages[index] as Plan['stages'][number];
  const fail = (part: string, problem: string): never => {
    throw new InputError(`${where}: ${part}`, problem);
  };
  const place = `stages[${index}]`;
  const count = plan.stages.length;
  if (count > 1) fail(`${place}.partition`, `there are ${count} stages; one with a partition holds all layers`);
  if (stage.processor !== 'gpu') fail(`${place}.processor`, 'is "cpu"; GPU and NPU share operators: use "gpu"');
  if (stage.cut !== undefined || stage.streamed !== undefined) {
    fail(
      `${place}.partition`,
      'stands beside "cut" or "streamed"; its weights stay in the chip\'s memory: remove those',
    );
  }
  if (plan.output.processor !== 'gpu' || plan.output.device !== stage.device) {
    fail('output', `is elsewhere; with a partition it is on the GPU of "${stage.device}"`);
  }
  if (plan.kvCache !== 'with-layers') fail('kvCache', 'is "host"; the memory is shared: use "with-layers"');
  const device = cluster.devices.find(({ name }) => name === stage.device);
  if (device === undefined) return;
  checkCuts(stage.partition as TensorPartition, socDevice(device), model, `${where}: ${place}.partition`);
}

function checkCuts(partition: TensorPartition, device: SocDevice, model: Shape, where: string): void {
  const { promptTokens, graphs } = partition;
  if (!Number.isInteger(promptTokens) || promptTokens < 1 || promptTokens > MOST_PROMPT_TOKENS) {
    const allowed = `a whole number between 1 and ${MOST_PROMPT_TOKENS}`;
    throw new InputError(`${where}.promptTokens`, `${promptTokens} is not ${allowed}`);
  }
  const operators = operatorShapes(model);
  const prepared = graphs === 'prepared' ? graphLengths(device.soc.npu) : undefined;
  for (const name of LAYER_OPERATORS) {
    checkCut(partition.prefill[name], operators[name], prepared, `${where}.prefill.${name}`);
  }
  for (const name of OPERATORS) checkCut(partition.decode[name], operators[name], [1], `${where}.decode.${name}`);
}

function checkCut(
  { npuRows, npuLengths }: OperatorCut,
  { rows }: OperatorShape,
  prepared: readonly number[] | undefined,
  where: string,
): void {
  if (!Number.isInteger(npuRows) || npuRows < 0 || npuRows > rows) {
    throw new InputError(`${where}.npuRows`, `${npuRows} is not a whole number between 0 and the ${rows} rows`);
  }
  if ((npuRows === 0) !== (npuLengths.length === 0)) {
    const problem = npuRows === 0 ? 'are given, but the NPU has no rows; remove them' : 'are missing; name a graph';
    throw new InputError(`${where}.npuLengths`, problem);
  }
  const strange = npuLengths.find(
    (length) => !(prepared?.includes(length) ?? (Number.isInteger(length) && length >= 1)),
  );
  if (strange !== undefined) {
    const allowed =
      prepared === undefined ? 'a whole number of tokens' : `a graph that is prepared: ${prepared.join(', ')}`;
    throw new InputError(`${where}.npuLengths`, `${strange} is not ${allowed}`);
  }
}
