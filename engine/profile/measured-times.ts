import { checkShape, type PartShape, type PartTimes, shapeText } from '../cost/chip/part-times.ts';
import { InputError } from '../input/input-error.ts';
import type { Operator } from '../model/operators.ts';

/** A solver asked for a shape that was never profiled. */
export class MissingProfileError extends InputError {}

/** A product and the seconds that one of a chip's processors took for it. */
export interface MeasuredPart extends PartShape {
  readonly processor: 'gpu' | 'npu';
  readonly seconds: number;
}

export interface MeasuredTimesOptions {
  /** Runs a part and returns its seconds. Without it, only the given measurements are known. */
  readonly measure?: (processor: 'gpu' | 'npu', operator: Operator, rows: number, tokens: number) => number;
}

export interface MeasuredTimes extends PartTimes {
  /** All measurements so far, the given ones included. */
  readonly parts: () => readonly MeasuredPart[];
}

/**
 * The real-execution mode of HeteroLLM's profiler (§4.3): each part is run once, when the solver first asks for it, and
 * then remembered.
 * @throws InputError from the returned functions, for an invalid shape
 * @throws MissingProfileError from the returned functions, for an unknown shape if `measure` is missing
 */
export function createMeasuredTimes(
  parts: readonly MeasuredPart[],
  { measure }: MeasuredTimesOptions = {},
): MeasuredTimes {
  const known = new Map(parts.map((part) => [keyOf(part.processor, part), part]));
  const secondsOf = (processor: 'gpu' | 'npu', operator: Operator, rows: number, tokens: number): number => {
    const shape = { rows, columns: operator.columns, tokens };
    const key = keyOf(processor, shape);
    const found = known.get(key);
    if (found !== undefined) return found.seconds;
    checkShape(shape);
    if (measure === undefined) {
      const own = [...known.values()].filter((part) => part.processor === processor).length;
      const problem = `lacks ${shapeText(shape)} (shapes profiled: ${own}); profile it, or use a predicted profile`;
      throw new MissingProfileError(`${processor.toUpperCase()} profile`, problem);
    }
    const seconds = measure(processor, operator, rows, tokens);
    known.set(key, { processor, ...shape, seconds });
    return seconds;
  };
  return {
    gpu: (operator, rows, tokens) => secondsOf('gpu', operator, rows, tokens),
    npu: (operator, rows, tokens) => secondsOf('npu', operator, rows, tokens),
    parts: () => [...known.values()],
  };
}

function keyOf(processor: 'gpu' | 'npu', { rows, columns, tokens }: PartShape): string {
  return `${processor} ${rows} ${columns} ${tokens}`;
}
