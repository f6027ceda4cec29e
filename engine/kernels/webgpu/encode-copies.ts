import type { ColumnsOf, CopyColumnsOperation, Operation } from '../operation.ts';
import { type EncodingContext, elements, isApart, isSame } from './encoding-context.ts';
import type { Dispatch, Kernel } from './program.ts';
import { COPY_COLUMNS, MOST_COPIES } from './shaders/rows.ts';

const COPY: Kernel = { name: 'copy-columns', code: COPY_COLUMNS };

/** Copies that one dispatch does with the first, in any order. */
export function copiedTogether(first: CopyColumnsOperation, following: readonly Operation[]): CopyColumnsOperation[] {
  const together = [first];
  for (const other of following.slice(0, MOST_COPIES - 1)) {
    if (other.kind !== 'copy-columns' || !together.every((one) => areIndependent(one, other))) break;
    together.push(other);
  }
  return together;
}

function areIndependent(one: CopyColumnsOperation, other: CopyColumnsOperation): boolean {
  const areApart = (a: ColumnsOf, b: ColumnsOf): boolean =>
    isApart(a.values, b.values) ||
    (isSame(a.values, b.values) &&
      a.width === b.width &&
      (a.first + one.columns <= b.first || b.first + other.columns <= a.first));
  return areApart(one.y, other.x) && areApart(one.x, other.y) && areApart(one.y, other.y);
}

/** A lane for each value that some copies write. */
export function encodeCopies({ place }: EncodingContext, copies: readonly CopyColumnsOperation[]): Dispatch {
  const numbers: number[] = [];
  let count = 0;
  for (const { x, y, columns, repeats = 1 } of copies) {
    const [from, to] = [place(x.values) + x.first, place(y.values) + y.first];
    numbers.push(from, x.width, to, y.width, columns, repeats, count, 0);
    count += (y.values.values.length / y.width) * columns;
  }
  return { kernel: COPY, numbers: [count, copies.length, 0, 0, ...numbers], workgroups: elements(count) };
}
