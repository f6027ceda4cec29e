import type { Kernels } from '../kernels/kernels.ts';
import type { Multiplied, Operation } from '../kernels/operation.ts';
import type { Vector } from '../kernels/vector.ts';
import type { Shape } from '../model/architecture.ts';
import { describe, type LayerStep } from '../model/block.ts';
import type { Experts, LayerKind } from '../model/layer-kind.ts';
import type { Activations, LayerBuffers } from './activations.ts';
import type { Rotations } from './rotations.ts';
import type { LayerWeights, Linear } from './transformer-weights.ts';

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

/** A layer's operations before its attention, which depends on where keys and values are, and after it. */
export interface LayerOperations {
  readonly before: readonly Operation[];
  readonly after: readonly Operation[];
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
  const attention = steps.findIndex(({ kind }) => kind === 'attend');
  const { queryDivisors } = activations.positions;
  const tempered: Operation[] =
    queryDivisors === undefined ? [] : [{ kind: 'divide-rows', divisors: queryDivisors, y: buffers.q }];
  return {
    before: [...steps.slice(0, attention).flatMap(bind), ...tempered],
    after: steps.slice(attention + 1).flatMap(bind),
  };
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
      const weight = layer.vectors[step.weight] as Vector;
      return [{ kind: 'rms-norm', x: buffers[step.x], weight, y: buffers[step.y], epsilon: settings.normEpsilon }];
    }
    case 'multiply': {
      const linear = layer.products[step.weight] as Linear;
      const accumulate = step.accumulate === true ? { accumulate: true } : {};
      return [{ kind: 'multiply', ...linear, x: buffers[step.x], y: buffers[step.y], ...accumulate }];
    }
    case 'rope': {
      const { rotations } = settings;
      const angles = activations.positions.angles[step.rotation] as Vector;
      const pairs = rotations.byName.get(step.rotation)?.pairs ?? 'adjacent';
      const { headSize } = layer.kind.attention;
      return [{ kind: 'rope', x: buffers[step.x], angles, heads: step.heads, headSize, pairs }];
    }
    case 'attend':
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
      const bias = step.bias && layer.vectors[step.bias];
      return [
        { kind: 'route', x: buffers.routerLogits, bias, y: buffers.routes, router: expertsOf(layer.kind).router },
      ];
    }
    case 'multiply-experts': {
      const linear = layer.products[step.weight] as Linear;
      const { experts, used } = expertsOf(layer.kind).router;
      const rows = linear.matrix.rows / experts;
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
      return [{ kind: 'add', x: buffers[step.x], y: buffers.x, factor: step.factor }];
  }
}

/** The mixture of a layer that has one. */
function expertsOf({ feedForward }: LayerKind): Experts {
  if (feedForward.kind !== 'experts') throw new RangeError('a layer has no experts');
  return feedForward;
}
