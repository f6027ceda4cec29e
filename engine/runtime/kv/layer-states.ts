import type { Kernels } from '../../kernels/kernels.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Shape } from '../../model/architecture.ts';
import { recurrenceOf, stateSize } from '../../model/layer-kind.ts';
import type { LayerRange } from './slice-shapes.ts';

/**
 * The states of a text's recurrent layers, which every token changes. A text can't be shortened without a copy of them, so
 * those before and after passes of several tokens are remembered: a verification's, and a prompt's.
 */
export interface LayerStates {
  /** A layer's state: the convolution's inputs, then its memory. */
  of(layer: number): Vector;
  /** Called before `tokens` tokens from `position` on change them; at 0 they become zero. */
  begin(tokens: number, position: number): void;
  /** Goes back to the last states that are remembered of a position up to this one. @returns that position */
  rewind(position: number): number;
}

/** Default number of remembered states, in addition to those of an empty text. */
export const REMEMBERED_STATES = 2;

/** Values of the states of a text in some layers. */
export function stateValues(
  { kinds, hiddenSize }: Pick<Shape, 'kinds' | 'hiddenSize'>,
  { from, to }: LayerRange = { from: 0, to: kinds.length },
): number {
  return kinds.slice(from, to).reduce((sum, kind) => {
    const recurrence = recurrenceOf(kind);
    if (recurrence === undefined) return sum;
    const { inputs, memory } = stateSize(recurrence, hiddenSize);
    return sum + inputs + memory;
  }, 0);
}

/** Makes, copies and clears states in the memory of a processor. */
export type StateKernels = Pick<Kernels, 'vector' | 'run' | 'write'>;

/** @returns `undefined` if none of these layers is recurrent */
export function createLayerStates(
  kernels: StateKernels,
  shape: Pick<Shape, 'kinds' | 'hiddenSize'>,
  layers: LayerRange,
  most = REMEMBERED_STATES,
): LayerStates | undefined {
  const total = stateValues(shape, layers);
  if (total === 0) return undefined;
  const whole = kernels.vector(total);
  const parts = new Map<number, Vector>();
  let end = 0;
  for (let layer = layers.from; layer < layers.to; layer++) {
    const size = stateValues(shape, { from: layer, to: layer + 1 });
    if (size > 0) parts.set(layer, whole.slice(end, end + size));
    end += size;
  }
  const copy = (from: Vector, to: Vector): void =>
    kernels.run([
      {
        kind: 'copy-columns',
        x: { values: from, width: total, first: 0 },
        y: { values: to, width: total, first: 0 },
        columns: total,
      },
    ]);
  const clear = (): void => {
    whole.values.fill(0);
    kernels.write(whole);
  };
  /** Oldest first. */
  let remembered: { readonly position: number; readonly states: Vector }[] = [];
  const unused: Vector[] = [];
  const forget = (count: number): void => {
    unused.push(...remembered.splice(0, count).map(({ states }) => states));
  };
  const remember = (position: number): void => {
    if (most === 0 || remembered.at(-1)?.position === position) return;
    if (remembered.length === most) forget(1);
    const states = unused.pop() ?? kernels.vector(total);
    copy(whole, states);
    remembered.push({ position, states });
  };
  let last = 1;
  return {
    of: (layer) => parts.get(layer) as Vector,
    begin(tokens, position) {
      if (position === 0) {
        forget(remembered.length);
        clear();
      } else if (tokens > 1 || last > 1) remember(position);
      last = tokens;
    },
    rewind(position) {
      const kept = remembered.filter((one) => one.position <= position);
      unused.push(...remembered.slice(kept.length).map(({ states }) => states));
      remembered = kept;
      const found = kept.at(-1);
      last = 1;
      if (found === undefined) clear();
      else copy(found.states, whole);
      return found?.position ?? 0;
    },
  };
}
