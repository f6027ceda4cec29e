import type { Kernels } from '../../kernels/kernels.ts';
import type { Multiplied } from '../../kernels/multiplied.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Shape } from '../../model/architecture.ts';
import { describe } from '../../model/block/describe.ts';
import { type BufferName, expertSteps, isTextStep, type LayerStep } from '../../model/block/layer-step.ts';
import type { Experts, LayerKind } from '../../model/layer-kind.ts';
import type { LayerWeights, Linear } from '../weights/transformer-weights.ts';
import type { Activations, LayerBuffers, LayerInputBuffers } from './activations.ts';
import type { Rotations } from './rotations.ts';

/** Settings that all layers of a model share. */
export interface LayerSettings {
  readonly shape: Shape;
  readonly normEpsilon: number;
  readonly rotations: Rotations;
  /** How experts are multiplied with tokens that are multiplied together (promptExperts). */
  readonly promptExperts?: Multiplied;
}

/**
 * How experts are multiplied with the tokens of prompts, which are multiplied together whatever their number. A chunk of a
 * prompt has a few tokens for each expert, which a CPU multiplies faster one by one; a GPU reads weights once for all.
 */
export function promptExperts({ name }: Pick<Kernels, 'name'>): Multiplied {
  return name === 'webgpu' ? 'together' : 'singly';
}

/** A layer's operations before what is done text by text, with what is kept of each, and after it. */
export interface LayerOperations {
  readonly before: readonly Operation[];
  readonly after: readonly Operation[];
  /** The crossing that follows `after` where the layer's experts are on another processor. */
  readonly crossing?: ExpertsCrossing;
}

/** The way of tokens to experts on another processor, and back. */
export interface ExpertsCrossing {
  /**
   * Input of the experts, as `after` leaves it: the normalised stream [tokens][hidden], then the choices
   * [tokens][used][expert, weight]. Their weighted sum takes the place of the former.
   */
  readonly values: Vector;
  /** The place of that sum: [tokens][hidden] */
  readonly sum: Vector;
  /** Operations that don't need the sum, and those that do. */
  readonly meanwhile: readonly Operation[];
  readonly beyond: readonly Operation[];
}

/** The operations of a layer's description, with the vectors and weights that it names. */
export function layerOperations(
  settings: LayerSettings,
  layer: LayerWeights,
  activations: Activations,
): LayerOperations {
  const { steps } = describe(layer.kind, settings.shape.hiddenSize);
  const buffers = activations.of(layer.kind);
  const bind = (step: LayerStep): Operation[] => bound(step, { settings, layer, activations, buffers });
  const mixing = steps.findIndex(isTextStep);
  const experts = layer.products.ffn_down_exps === undefined ? expertSteps(steps) : undefined;
  const own = experts === undefined ? steps : steps.slice(0, experts.from);
  const crossing = experts && expertsCrossing(steps.slice(experts.to - 1), { layer, activations, buffers, bind });
  const leaving = crossing === undefined ? [] : leaveForExperts(crossing, activations, buffers);
  const others = crossing === undefined ? {} : { crossing };
  if (mixing < 0) return { before: [...own.flatMap(bind), ...leaving], after: [], ...others };
  const { queryDivisors } = activations.positions;
  const tempered: Operation[] =
    queryDivisors === undefined || steps[mixing]?.kind !== 'attend'
      ? []
      : [{ kind: 'divide-rows', divisors: queryDivisors, y: buffers.q }];
  return {
    before: [...own.slice(0, mixing).flatMap(bind), ...tempered],
    after: [...own.slice(mixing + 1).flatMap(bind), ...leaving],
    ...others,
  };
}

/** @param rest the mixture's sum, and the steps after it */
function expertsCrossing(
  [sum, ...rest]: readonly LayerStep[],
  { layer, activations, buffers, bind }: Omit<BoundLayer, 'settings'> & { bind(step: LayerStep): Operation[] },
): ExpertsCrossing {
  const { y, accumulate } = sum as LayerStep & { readonly kind: 'combine-experts' };
  const needsSum = rest.findIndex((step) => touches(step, y));
  const first = needsSum < 0 ? rest.length : needsSum;
  const values = activations.crossing(layer.kind);
  const own = values.slice(0, activations.h.values.length);
  const arriving: Operation = accumulate ? { kind: 'add', x: own, y: buffers[y] } : copied(own, buffers[y]);
  return {
    ...{ values, sum: own },
    meanwhile: rest.slice(0, first).flatMap(bind),
    beyond: [arriving, ...rest.slice(first).flatMap(bind)],
  };
}

/** Puts what experts read where it is fetched from. */
function leaveForExperts({ values, sum }: ExpertsCrossing, { h }: Activations, { routes }: LayerBuffers): Operation[] {
  return [copied(h, sum), copied(routes, values.slice(sum.values.length, values.values.length))];
}

/** The sum of chosen experts' results, from the normalised stream and `routes`, in place of the former. */
export function expertOperations(
  settings: LayerSettings,
  layer: LayerWeights,
  activations: Activations,
): readonly Operation[] {
  const { steps } = describe(layer.kind, settings.shape.hiddenSize);
  const { from, to } = expertSteps(steps) as { from: number; to: number };
  const products = steps.slice(from, to - 1);
  const own = { settings, layer, activations, buffers: activations.of(layer.kind) };
  return [...products, { kind: 'combine-experts', y: 'h' } as const].flatMap((step) => bound(step, own));
}

/** Copies all values of a vector. */
function copied(x: Vector, y: Vector): Operation {
  const width = x.values.length;
  return { kind: 'copy-columns', x: { values: x, width, first: 0 }, y: { values: y, width, first: 0 }, columns: width };
}

/** Whether a step after a mixture reads or writes a buffer. */
function touches(step: LayerStep, buffer: BufferName): boolean {
  const { x, y, gate, up } = step as Partial<Record<'x' | 'y' | 'gate' | 'up', unknown>>;
  return [x, y, gate, up].includes(buffer);
}

interface BoundLayer {
  readonly settings: LayerSettings;
  readonly layer: LayerWeights;
  readonly activations: Activations;
  readonly buffers: LayerBuffers;
}

function bound(step: LayerStep, { settings, layer, activations, buffers }: BoundLayer): Operation[] {
  switch (step.kind) {
    case 'rms-norm': {
      const { x, y, width } = step;
      const weight =
        step.weight === 'ones' ? activations.ones(width as number) : (layer.vectors[step.weight] as Vector);
      return [{ kind: 'rms-norm', x: buffers[x], weight, y: buffers[y], epsilon: settings.normEpsilon, width }];
    }
    case 'multiply': {
      const linear = layer.products[step.weight] as Linear;
      const accumulate = step.accumulate === true ? { accumulate: true } : {};
      return [{ kind: 'multiply', ...linear, x: buffers[step.x], y: buffers[step.y], ...accumulate }];
    }
    case 'multiply-heads': {
      const { heads: experts, x, y } = step;
      const linear = layer.products[step.weight] as Linear;
      const rows = linear.matrix.rows / experts;
      const routes = activations.headRoutes(experts);
      return [
        {
          ...{ kind: 'multiply-experts', ...linear, experts, used: experts },
          rows,
          routes,
          x: buffers[x],
          y: buffers[y],
        },
      ];
    }
    case 'copy-columns': {
      const { x, y, columns, repeats } = step;
      const place = ({ buffer, width, first }: typeof x) => ({ values: buffers[buffer], width, first });
      return [{ kind: 'copy-columns', x: place(x), y: place(y), columns, repeats }];
    }
    case 'rope': {
      const { rotations } = settings;
      const angles = activations.positions.angles[step.rotation] as Vector;
      const pairs = rotations.byName.get(step.rotation)?.pairs ?? 'adjacent';
      const { heads, headSize } = step;
      return [{ kind: 'rope', x: buffers[step.x], angles, heads, headSize, pairs }];
    }
    case 'attend':
    case 'recur':
      return [];
    case 'gate':
      return [
        {
          kind: 'gate',
          activation: step.activation,
          gate: buffers[step.gate],
          up: buffers[step.up],
          y: buffers[step.gate],
        },
      ];
    case 'route': {
      const { router } = expertsOf(layer.kind);
      const bias = step.bias && layer.vectors[step.bias];
      const scales = step.scales && layer.vectors[step.scales];
      return [{ kind: 'route', x: buffers.routerLogits, bias, scales, y: buffers.routes, router }];
    }
    case 'multiply-experts': {
      const linear = layer.products[step.weight] as Linear;
      const { router, size } = expertsOf(layer.kind);
      const { experts, used } = router;
      const rows = step.weight === 'ffn_down_exps' ? settings.shape.hiddenSize : size;
      const { routes } = buffers;
      return [
        { kind: 'multiply-experts', ...linear, experts, rows, routes, used, x: buffers[step.x], y: buffers[step.y] },
      ];
    }
    case 'combine-experts': {
      const { used } = expertsOf(layer.kind).router;
      const { expertResult: x, routes } = buffers;
      const accumulate = step.accumulate === true ? { accumulate: true } : {};
      return [{ kind: 'combine-experts', x, routes, used, y: buffers[step.y], ...accumulate }];
    }
    case 'gate-rows':
      return [{ kind: 'gate-rows', gate: buffers[step.gate], y: buffers[step.y] }];
    case 'add':
      return [{ kind: 'add', x: buffers[step.x], y: buffers[step.y], factor: step.factor }];
    case 'scale':
      return [{ kind: 'scale', y: buffers[step.y], factor: layer.vectors[step.weight]?.values[0] as number }];
    case 'layer-input': {
      const { inputs: values } = activations.layerInputs as LayerInputBuffers;
      const width = settings.shape.layerInputs as number;
      const x = { values, width: settings.shape.layers * width, first: layer.index * width };
      return [{ kind: 'copy-columns', x, y: { values: buffers[step.y], width, first: 0 }, columns: width }];
    }
  }
}

/** The mixture of a layer that has one. */
function expertsOf({ feedForward }: LayerKind): Experts {
  if (feedForward?.kind !== 'experts') throw new RangeError('a layer has no experts');
  return feedForward;
}
