import { DecisionTreeRegression } from 'ml-cart';
import { type LatencyModel, type LatencySample, latencyFeatures } from './latency-model.ts';

/** Samples that a leaf may hold: few, since a stage is flat and measured times differ little within it. */
const LEAF_SAMPLES = 2;
/** More than the leaves of any table of samples ask for; it ends a tree that equal samples would keep splitting. */
const MOST_DEPTH = 32;

/**
 * A regression tree (CART; Breiman et al. 1984) of the logarithm of seconds, as HeteroLLM's prediction mode has it (4.3):
 * constant between thresholds, and so at its best where an NPU's times are stages.
 */
export function trainTree(samples: readonly LatencySample[]): LatencyModel {
  const tree = new DecisionTreeRegression({ minNumSamples: LEAF_SAMPLES, maxDepth: MOST_DEPTH });
  tree.train(
    samples.map(latencyFeatures),
    samples.map(({ seconds }) => Math.log(seconds)),
  );
  return { kind: 'tree', predict: (shapes) => tree.predict(shapes.map(latencyFeatures)).map(Math.exp) };
}
