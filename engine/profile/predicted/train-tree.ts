import { DecisionTreeRegression } from 'ml-cart';
import { type LatencyModel, type LatencySample, latencyFeatures } from './latency-model.ts';

/** Most samples of a leaf: few, since times are constant within a stage and measurements vary little. */
const LEAF_SAMPLES = 2;
/** Deeper than any table of samples needs; it stops the splitting of identical samples. */
const MOST_DEPTH = 32;

/**
 * Trains a regression tree (CART; Breiman et al. 1984) on the logarithm of seconds, as HeteroLLM's prediction mode does
 * (§4.3). A tree is constant between thresholds, which suits an NPU, whose times rise in steps.
 */
export function trainTree(samples: readonly LatencySample[]): LatencyModel {
  const tree = new DecisionTreeRegression({ minNumSamples: LEAF_SAMPLES, maxDepth: MOST_DEPTH });
  tree.train(
    samples.map(latencyFeatures),
    samples.map(({ seconds }) => Math.log(seconds)),
  );
  return { kind: 'tree', predict: (shapes) => tree.predict(shapes.map(latencyFeatures)).map(Math.exp) };
}
