import type { OperatorParts } from '../../engine/cost/operator-cost.ts';
import { COPIES_PER_PART, waitForFlag } from '../../engine/cost/synchronisation.ts';
import type { Lane } from '../../engine/trace/trace.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { Chip } from './chip.ts';

/**
 * Fast synchronisation (HeteroLLM 4.2): the thread sleeps for as long as it expects the GPU's kernels to take, in whole
 * granules, then polls the flag beside the operator's input, and notifies the NPU. Once the NPU is done it goes on: if
 * the GPU has ended before, its queue is empty, and the next kernel starts late; else that one is queued in time.
 */
export function* handOverFast(chip: Chip, name: string, { gpu, npu }: OperatorParts): Steps {
  const { simulation, device } = chip.parts;
  const { synchronisation } = device.soc;
  const asked = simulation.now;
  const predicted = Math.max(0, chip.gpu.expectedEnd - asked);
  const { sleep } = waitForFlag(predicted, predicted, synchronisation);
  if (sleep > 0) yield hold(sleep);
  const awake = simulation.now;
  yield* chip.gpu.drain();
  const { polling } = waitForFlag(0, simulation.now - awake, { ...synchronisation, sleep: 0 });
  const left = awake + polling - simulation.now;
  if (left > 0) yield hold(left);
  note(chip, 'cpu', `polls for the input of ${name}`, awake);
  yield* busy(chip, 'cpu', `notifies the NPU of ${name}`, synchronisation.notify);
  if (gpu.seconds > 0) chip.gpu.submit(name, gpu);
  yield* chip.npu.run(name, npu);
  // A kernel that ends at this instant has ended.
  yield hold(0);
  if (!chip.gpu.isEmpty) return;
  yield* busy(chip, 'cpu', `submits to the empty queue after ${name}`, device.soc.gpu.drained);
  chip.isSubmitted = true;
}

/**
 * Naive synchronisation (3.1): the queue is emptied, each part's input is copied through the CPU's memory, and so are
 * the results, once both are done; then the queue is filled again.
 */
export function* handOverNaively(chip: Chip, name: string, { gpu, npu }: OperatorParts): Steps {
  const { synchronisation, gpu: queue } = chip.parts.device.soc;
  const copies = (gpu.seconds > 0 ? 2 : 1) * (COPIES_PER_PART / 2) * synchronisation.copy;
  yield* chip.gpu.drain();
  yield* busy(chip, 'link', `copies the input of ${name}`, copies);
  yield* busy(chip, 'cpu', `notifies the NPU of ${name}`, synchronisation.notify);
  if (gpu.seconds > 0) chip.gpu.submit(name, gpu);
  yield* chip.npu.run(name, npu);
  yield* chip.gpu.drain();
  yield* busy(chip, 'link', `copies the result of ${name}`, copies);
  yield* busy(chip, 'cpu', `submits to the empty queue after ${name}`, queue.drained);
  chip.isSubmitted = true;
}

function* busy(chip: Chip, lane: Lane, name: string, seconds: number): Steps {
  const start = chip.parts.simulation.now;
  yield hold(seconds);
  note(chip, lane, name, start);
}

function note({ parts: { simulation, recorder, device } }: Chip, lane: Lane, name: string, start: number): void {
  if (!recorder.wantsSpans) return;
  const cause = lane === 'link' ? 'deviceCopy' : 'overhead';
  recorder.span({ device: device.name, lane, cause, name, start, end: simulation.now, args: {} });
}
