import { env, tensor2d, tidy, train } from '@tensorflow/tfjs-core';
import { initializers, layers, type Sequential, sequential } from '@tensorflow/tfjs-layers';
import type { PartShape } from '../../cost/chip/part-times.ts';
import { type LatencyModel, type LatencySample, latencyFeatures } from './latency-model.ts';
import { useTensorBackend } from './tensor-backend.ts';

export interface NetworkOptions {
  /** Seed of the initial weights. */
  readonly seed: number;
  /** Passes over the samples; default 200. */
  readonly epochs?: number;
  /** Called after each pass. */
  readonly progress?: (epoch: number, epochs: number) => void;
}

const HIDDEN_UNITS = 24;
const BATCH = 64;
const LEARNING_RATE = 0.01;

/**
 * Trains a network with two hidden layers of 24 units to predict the logarithm of seconds from the logarithms of the
 * sizes, both scaled to mean 0 and variance 1. The result is deterministic: samples keep their order and the seed
 * determines the initial weights. The network is smooth, so it turns the step between two stages into a slope.
 */
export async function trainNetwork(samples: readonly LatencySample[], options: NetworkOptions): Promise<LatencyModel> {
  const { seed, epochs = 200, progress } = options;
  env().set('PROD', true);
  await useTensorBackend();
  const scales = [0, 1, 2].map((index) => scaleOf(samples.map((sample) => latencyFeatures(sample)[index] as number)));
  const output = scaleOf(samples.map(({ seconds }) => Math.log(seconds)));
  const inputsOf = (shapes: readonly PartShape[]): number[][] =>
    shapes.map((shape) => latencyFeatures(shape).map((value, index) => (scales[index] as Scale).scale(value)));
  const network = createNetwork(seed);
  const inputs = tensor2d(inputsOf(samples));
  const values = tensor2d(samples.map(({ seconds }) => [output.scale(Math.log(seconds))]));
  await network.fit(inputs, values, {
    epochs,
    batchSize: BATCH,
    shuffle: false,
    verbose: 0,
    callbacks: { onEpochEnd: (epoch) => progress?.(epoch + 1, epochs) },
  });
  inputs.dispose();
  values.dispose();
  const predict = (shapes: readonly PartShape[]): number[] => {
    if (shapes.length === 0) return [];
    const scaled = tidy(() => {
      const result = network.predict(tensor2d(inputsOf(shapes)));
      return Array.from((Array.isArray(result) ? result[0] : result)?.dataSync() ?? []);
    });
    return scaled.map((value) => Math.exp(output.restore(value)));
  };
  return { kind: 'network', predict };
}

function createNetwork(seed: number): Sequential {
  const start = (offset: number) => initializers.glorotUniform({ seed: 3 * seed + offset });
  const hidden = { units: HIDDEN_UNITS, activation: 'tanh' } as const;
  const network = sequential({
    layers: [
      layers.dense({ ...hidden, inputShape: [3], kernelInitializer: start(0) }),
      layers.dense({ ...hidden, kernelInitializer: start(1) }),
      layers.dense({ units: 1, kernelInitializer: start(2) }),
    ],
  });
  network.compile({ optimizer: train.adam(LEARNING_RATE), loss: 'meanSquaredError' });
  return network;
}

interface Scale {
  readonly scale: (value: number) => number;
  readonly restore: (scaled: number) => number;
}

/** Scales values to mean 0 and variance 1; identical values become 0. */
function scaleOf(values: readonly number[]): Scale {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const deviation = variance > 0 ? Math.sqrt(variance) : 1;
  return { scale: (value) => (value - mean) / deviation, restore: (scaled) => mean + deviation * scaled };
}
