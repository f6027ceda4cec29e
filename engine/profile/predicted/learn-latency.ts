import { checkShape, shapeText } from '../../cost/chip/part-times.ts';
import { InputError } from '../../input/input-error.ts';
import { randomStream } from '../../input/random-stream.ts';
import {
  type HeldOutError,
  heldOutError,
  type LatencyModel,
  type LatencyModelKind,
  type LatencySample,
  type TrainedRange,
  trainedRange,
} from './latency-model.ts';
import { type NetworkOptions, trainNetwork } from './train-network.ts';
import { trainTree } from './train-tree.ts';

/** Least number of samples for training and validation. */
export const FEWEST_SAMPLES = 20;
/** Every fourth sample, in random order, is held out. */
const HELD_OUT = 4;

/** Regressions trained on samples of one processor. */
export interface LearnedLatency {
  /** The model with the smaller median error on held-out samples. */
  readonly better: LatencyModel;
  readonly models: Readonly<Record<LatencyModelKind, LatencyModel>>;
  readonly errors: Readonly<Record<LatencyModelKind, HeldOutError>>;
  /** The range of sizes among the training samples. */
  readonly range: TrainedRange;
  readonly samples: number;
}

/**
 * The prediction mode of HeteroLLM's profiler (§4.3): regressions trained on sampled shapes. A tree and a network are
 * trained on three quarters of the samples; the remaining quarter decides which of them is used.
 * @throws InputError for too few samples, an invalid shape, or seconds that are not above 0
 */
export async function learnLatency(
  samples: readonly LatencySample[],
  options: NetworkOptions,
): Promise<LearnedLatency> {
  checkSamples(samples);
  const random = randomStream(options.seed, 'held-out samples');
  const shuffled = samples
    .map((sample) => ({ sample, key: random.next() }))
    .sort((one, other) => one.key - other.key)
    .map(({ sample }) => sample);
  const heldOut = shuffled.filter((_, index) => index % HELD_OUT === 0);
  const learned = shuffled.filter((_, index) => index % HELD_OUT !== 0);
  const models = { tree: trainTree(learned), network: await trainNetwork(learned, options) };
  const errors = { tree: heldOutError(models.tree, heldOut), network: heldOutError(models.network, heldOut) };
  const better = errors.tree.median <= errors.network.median ? models.tree : models.network;
  return { better, models, errors, range: trainedRange(learned), samples: learned.length };
}

function checkSamples(samples: readonly LatencySample[]): void {
  if (samples.length < FEWEST_SAMPLES) {
    const found = `${samples.length} are too few to learn from`;
    throw new InputError('samples', `${found}; profile ${FEWEST_SAMPLES} shapes or more`);
  }
  for (const { seconds, ...shape } of samples) {
    checkShape(shape);
    if (seconds > 0 && Number.isFinite(seconds)) continue;
    throw new InputError(`sample ${shapeText(shape)}`, `took ${seconds} s; times must be above 0; measure it again`);
  }
}
