import { type ChipDevice, chipDevice, graphLengths } from '../hardware/chip.ts';
import type { Cluster } from '../hardware/cluster.ts';
import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import { LAYER_OPERATORS, OPERATORS, type OperatorShape, operatorShapes } from '../model/operators.ts';
import type { OutputPlace, Place, Plan, Stage } from './plan.ts';
import type { OperatorCut, TensorPartition } from './tensor-partition.ts';

/** The most tokens of a prompt: an order of magnitude above the contexts that models are trained for. */
export const MOST_PROMPT_TOKENS = 1_000_000;

/** A part of a plan that may cut operators, and its place in the plan, for messages. */
interface PartitionedPlace extends Place {
  readonly at: string;
  readonly partition: TensorPartition | undefined;
}

/**
 * Checks the operators that GPU and NPU share: they are on the GPU of a chip that has an NPU; all that this GPU runs is
 * cut in the same way; cuts are within the operators' rows, prompts within MOST_PROMPT_TOKENS, and graphs are prepared.
 * In a plan of kind `chip` the output layer is cut like the stage.
 * @throws InputError that says which part is wrong and what it should be
 */
export function validatePartition(plan: Plan, cluster: Cluster, model: Shape, where: string): void {
  const placeAt = ({ device, processor, partition }: Stage | OutputPlace, at: string): PartitionedPlace => ({
    device,
    processor,
    partition,
    at,
  });
  const places = plan.stages.map((stage, index) => placeAt(stage, `stages[${index}]`));
  if (plan.kind !== 'chip') places.push(placeAt(plan.output, 'output'));
  const cutting = places.filter(({ partition }) => partition !== undefined);
  if (cutting.length === 0) return;
  const fail = (part: string, problem: string): never => {
    throw new InputError(`${where}: ${part}`, problem);
  };
  plan.stages.forEach((stage, index) => {
    if (stage.partition === undefined || stage.streamed === undefined) return;
    const problem = 'is given together with "streamed"; its weights stay in the chip’s memory: remove that';
    fail(`stages[${index}].partition`, problem);
  });
  if (plan.kvCache !== 'with-layers') fail('kvCache', 'is "host"; the memory is shared: use "with-layers"');
  if (plan.kind === 'chip' && (plan.output.processor !== 'gpu' || plan.output.device !== plan.stages[0]?.device)) {
    fail('output', `is elsewhere; with a partition it is on the GPU of "${plan.stages[0]?.device}"`);
  }
  const checked = new Map<string, string>();
  for (const { at, device: name, processor, partition } of cutting) {
    if (processor !== 'gpu') fail(`${at}.processor`, 'is "cpu"; GPU and NPU share operators: use "gpu"');
    const text = JSON.stringify(partition);
    const before = checked.get(name);
    checked.set(name, text);
    if (before === text) continue;
    if (before !== undefined) fail(`${at}.partition`, `differs from another of "${name}"; a chip cuts in one way`);
    const device = cluster.devices.find((candidate) => candidate.name === name);
    if (device !== undefined) {
      checkCuts(partition as TensorPartition, chipDevice(device), model, `${where}: ${at}.partition`);
    }
    if (partition?.graphs === 'online' && plan.kind !== 'chip') {
      fail(`${at}.partition.graphs`, 'is "online"; a chip that is one of several stages runs "prepared" graphs');
    }
  }
  const whole = places.find(
    ({ device, processor, partition }) => partition === undefined && processor === 'gpu' && checked.has(device),
  );
  if (whole !== undefined) {
    fail(whole.at, `lacks the "partition" that the rest of the GPU of "${whole.device}" has; give it the same`);
  }
}

function checkCuts(partition: TensorPartition, device: ChipDevice, model: Shape, where: string): void {
  const { promptTokens, graphs } = partition;
  if (!Number.isInteger(promptTokens) || promptTokens < 1 || promptTokens > MOST_PROMPT_TOKENS) {
    const allowed = `a whole number between 1 and ${MOST_PROMPT_TOKENS}`;
    throw new InputError(`${where}.promptTokens`, `${promptTokens} is not ${allowed}`);
  }
  const operators = operatorShapes(model);
  // A prompt of one token can use the graphs of decoding.
  const lengths = [...graphLengths(device.soc.npu), ...(promptTokens === 1 ? [1] : [])];
  const prepared = graphs === 'prepared' ? lengths : undefined;
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
