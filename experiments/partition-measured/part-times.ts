import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { OPERATORS, type Operator, type OperatorName } from '../../engine/model/operators.ts';
import { type Quantization, quantizedBytes } from '../../engine/model/quantization.ts';
import { createMeasuredTimes, type MeasuredPart } from '../../engine/profile/measured-times.ts';
import { median } from '../report/median.ts';
import { candidateCuts } from './cuts.ts';

export interface PartsToMeasure {
  readonly main: Kernels;
  readonly second: Kernels;
  readonly operators: Readonly<Record<OperatorName, Operator>>;
  /** Numbers of tokens that operators are cut for. */
  readonly lengths: readonly number[];
  readonly format: Quantization;
  readonly onPart: (label: string) => void;
}

/** Runs of each part, of which the median counts; one more comes before them. */
const REPEATS = 3;
/** A byte that makes a reasonable weight and a reasonable scale at any position in a block. */
const WEIGHT_BYTE = 0x2a;

interface Part {
  readonly processor: MeasuredPart['processor'];
  readonly rows: number;
  readonly columns: number;
  readonly tokens: number;
}

/** The parts of all cuts that are considered. */
export function partsOf({ operators, lengths }: Pick<PartsToMeasure, 'operators' | 'lengths'>): Part[] {
  const parts = new Map<string, Part>();
  const add = (processor: Part['processor'], rows: number, columns: number, tokens: number): void => {
    if (rows > 0 && tokens > 0)
      parts.set(`${processor} ${rows} ${columns} ${tokens}`, { processor, rows, columns, tokens });
  };
  for (const name of OPERATORS) {
    const operator = operators[name];
    const { rows, columns } = operator;
    for (const tokens of name === 'output' ? [1] : [1, ...lengths]) {
      for (const { npuRows, npuLengths } of candidateCuts(operator, tokens)) {
        const covered =
          npuRows === 0
            ? 0
            : Math.min(
                tokens,
                npuLengths.reduce((sum, one) => sum + one, 0),
              );
        for (const length of covered === 0 ? [] : npuLengths) add('npu', npuRows, columns, length);
        add('gpu', covered === 0 ? 0 : rows - npuRows, columns, covered);
        add('gpu', rows, columns, tokens - covered);
      }
    }
  }
  return [...parts.values()];
}

/**
 * Measures every part once, on its own: the real-execution mode of HeteroLLM's profiler (4.3). The second processor's
 * time includes that x goes to it and y comes back.
 */
export async function measuredTimes(asked: PartsToMeasure): Promise<PartTimes> {
  const measured: MeasuredPart[] = [];
  for (const part of partsOf(asked)) {
    asked.onPart(`${part.processor === 'npu' ? 'GPU' : 'CPU'}: ${part.rows} × ${part.columns}, ${part.tokens} tokens`);
    measured.push({ ...part, seconds: await partSeconds(part, asked) });
  }
  return createMeasuredTimes(measured);
}

async function partSeconds(
  { processor, rows, columns, tokens }: Part,
  { main, second, format: type }: PartsToMeasure,
): Promise<number> {
  const kernels = processor === 'gpu' ? main : second;
  const source = new Uint8Array(rows * quantizedBytes(columns, type)).fill(WEIGHT_BYTE);
  const matrix = kernels.matrix({ source, type, rows, columns });
  const x = kernels.vector(new Float32Array(tokens * columns).fill(0.01));
  const y = kernels.vector(tokens * rows);
  const seconds: number[] = [];
  for (let run = 0; run <= REPEATS; run++) {
    const start = performance.now();
    kernels.write(x);
    kernels.run([{ kind: 'multiply', matrix, x, y }]);
    const reading = kernels.read(y);
    if (reading !== undefined) await reading;
    seconds.push((performance.now() - start) / 1000);
  }
  return median(seconds.slice(1));
}
