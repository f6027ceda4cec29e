import type { Vector } from '../../kernels/vector.ts';
import type { Shape } from '../../model/architecture.ts';
import { isRecurrent } from '../../model/layer-kind.ts';
import { createLayerStates, type LayerStates, type StateKernels } from '../../runtime/kv/layer-states.ts';
import type { FrameSegment } from '../wire/frame.ts';

/** The states of a window's recurrent layers, by request. */
export interface RequestStates {
  /** Whether tokens go on where the request's states are, or begin anew. */
  follows(segment: PlacedTokens): boolean;
  /** Counts tokens that are going to change the states; those of waiting frames are among them. */
  count(segment: PlacedTokens): void;
  /** The states that some tokens change, by layer. */
  begin(segment: PlacedTokens): (layer: number) => Vector;
}

type PlacedTokens = Pick<FrameSegment, 'request' | 'position' | 'tokens'>;

export interface RequestStatesOptions {
  readonly part: {
    kernelsOf(layer: number): StateKernels;
    readonly model: Pick<Shape, 'kinds' | 'hiddenSize'>;
  };
  readonly from: number;
  readonly to: number;
  /** Requests whose states are kept at the same time: the one that came last goes on longest. */
  readonly requests: number;
}

/** A ring's texts begin anew where they go back, so that no states are remembered. */
const REMEMBERED = 0;

/** @returns `undefined` if none of the layers is recurrent */
export function createRequestStates({ part, from, to, requests }: RequestStatesOptions): RequestStates | undefined {
  if (!isRecurrent({ kinds: part.model.kinds.slice(from, to) })) return undefined;
  /** Tokens by request, the one that was counted longest ago first. */
  const counted = new Map<number, number>();
  const states = new Map<number, ReadonlyMap<number, LayerStates>>();
  const unused: ReadonlyMap<number, LayerStates>[] = [];
  const newStates = (): ReadonlyMap<number, LayerStates> => {
    const own = new Map<number, LayerStates>();
    for (let layer = from; layer < to; layer++) {
      const range = { from: layer, to: layer + 1 };
      const made = createLayerStates(part.kernelsOf(layer), part.model, range, REMEMBERED);
      if (made !== undefined) own.set(layer, made);
    }
    return own;
  };
  const forgetOldest = (): void => {
    const [oldest] = counted.keys();
    if (oldest === undefined) return;
    counted.delete(oldest);
    const own = states.get(oldest);
    states.delete(oldest);
    if (own !== undefined) unused.push(own);
  };
  return {
    follows: ({ request, position }) => position === 0 || counted.get(request) === position,
    count({ request, position, tokens }) {
      counted.delete(request);
      counted.set(request, position + tokens);
      if (counted.size > requests) forgetOldest();
    },
    begin({ request, position, tokens }) {
      const own = states.get(request) ?? unused.pop() ?? newStates();
      states.set(request, own);
      for (const layer of own.values()) layer.begin(tokens, position);
      return (layer) => (own.get(layer) as LayerStates).of(layer);
    },
  };
}
