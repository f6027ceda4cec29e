import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Model } from '../../model/model.ts';
import type { CutOperations } from '../cut/cut-operations.ts';
import type { StateKernels } from '../kv/layer-states.ts';
import type { MovedSliceKernels } from '../kv/page-pool.ts';
import { createActivations } from '../pass/activations.ts';
import type { LayerBatches } from '../pass/attention.ts';
import { type ChosenExperts, createChosenExperts } from '../pass/chosen-experts.ts';
import { type CrossedExperts, createCrossedExperts } from '../pass/crossed-experts.ts';
import { embedOperations, hiddenOperations, outputPart, type TokenRange } from '../pass/forward.ts';
import { type LargestLogits, largestLogits } from '../pass/largest-logits.ts';
import { layerBatches, passSegments, type Segment } from '../pass/layer-batches.ts';
import { type ExpertsCrossing, promptExperts } from '../pass/layer-operations.ts';
import { lazily } from '../pass/lazily.ts';
import { growingRows, runTogether } from '../pass/passes.ts';
import { positionVectors, writePositions } from '../pass/positions.ts';
import { type LayerStretch, type LayersToRun, repeatedLayers } from '../pass/repeated-layers.ts';
import type { Rotations } from '../pass/rotations.ts';
import { rowsOf } from '../pass/wanted-rows.ts';
import { createLayerPages, type LayerPages, type LayerPagesOptions } from '../texts/layer-pages.ts';
import type { LayerPiece, LayerWeights, WeightsLoader } from '../weights/transformer-weights.ts';
import { otherEvents } from './other-events.ts';

/** Some layers of a model, with embedding and output if requested: the part that a device of a ring computes. */
export interface ModelPart {
  readonly model: Model;
  readonly settings: TransformerSettings;
  /** The most tokens that go through its layers at once. */
  readonly mostTokens: number;
  /** Loads these layers unless they are loaded already, the first `withoutExperts` of them but for their experts. */
  load(from: number, to: number, withoutExperts?: number): void;
  /** Loads the experts of those of these layers that have any: what multiplies them for another processor. */
  experts(from: number, to: number): CrossedExperts;
  /** Experts of any layer, for tokens that chose some of them; a layer's are loaded when they are first multiplied. */
  chosenExperts(): ChosenExperts;
  /** The weights of a layer that is loaded. @throws RangeError for another */
  weightsOf(layer: number): LayerWeights;
  /** Loads the output layer unless it is loaded already; `logits` does so too. */
  loadOutput(): void;
  /** In whose memory a layer's keys and values, or its states, are. */
  kernelsOf(layer: number): MovedSliceKernels & StateKernels;
  /**
   * Keys and values of layers `from` up to `to` in pages, the oldest of them in a file in `folder`, or in RAM for
   * kernels on a GPU (HELM 4.2.2).
   */
  layerPages(
    layers: { readonly from: number; readonly to: number },
    options: Pick<LayerPagesOptions, 'plan' | 'place' | 'type'>,
  ): LayerPages;
  /**
   * The residual stream of `tokens` tokens: [tokens][hidden], the same memory in every call. Kernels with memory of
   * their own see what is written to it after `arrive`, and it has their results after `leave`.
   */
  stream(tokens: number): Float32Array;
  arrive(tokens: number): void;
  leave(tokens: number): Promise<void> | undefined;
  /** Writes the tokens' rows of the embedding to the stream. */
  embed(tokens: readonly number[]): void;
  /**
   * Runs layers `from` up to, not including, `to` on the stream, which has the tokens of all segments, one after the
   * other. Other events of the process are handled between slow layers; nothing else may use the stream meanwhile.
   * `begin` of a ContextCache comes before.
   * @param experts multiplies those of layers that are loaded without; a sequence always comes with the same
   */
  run(from: number, to: number, segments: readonly Segment[], experts?: CrossedExperts): Promise<void>;
  /**
   * The logits of the wanted ones of the tokens in the stream, in order, by default of the last: [wanted][vocabulary], in
   * memory that the next call overwrites.
   */
  logits(
    tokens: number,
    wanted?: readonly TokenRange[],
    multiplied?: MultiplyOperation['multiplied'],
  ): Promise<Float32Array>;
  /** The hidden states of tokens in the stream, in order: [tokens][hidden], in memory that the next call overwrites. */
  hidden(tokens: number, wanted: readonly TokenRange[]): Promise<Float32Array>;
  /** The `k` largest logits of the last token, chosen where they are computed; from 1 to the vocabulary. */
  largestLogits(tokens: number, k: number): Promise<LargestLogits>;
}

export interface ModelPartOptions {
  readonly model: Model;
  readonly settings: TransformerSettings;
  /** Rotations for the context that a run has room for, which may change between runs. */
  readonly rotations: () => Rotations;
  readonly weights: WeightsLoader;
  readonly kernels: Kernels;
  readonly mostTokens: number;
  /** Called before each layer, which then runs by itself; unless given, layers run together. */
  readonly beforeLayer?: ((layer: number) => void) | undefined;
  /** Layers whose products another processor shares, and whether those of the output layer are shared; default: none. */
  readonly cut?: CutLayers | undefined;
}

/** Products of which another processor has a part, and how they run then. */
export interface CutLayers {
  readonly layers: ReadonlySet<number>;
  readonly output: boolean;
  readonly operations: CutOperations;
}

/** Seconds after which other events are handled: heartbeats distinguish a computing device from a lost one. */
const TURN = 0.25;

/** Loads nothing yet. All parts of a model on a device share the memory for activations. */
export function createModelPart({
  model,
  settings,
  rotations,
  weights,
  kernels,
  mostTokens,
  beforeLayer,
  cut,
}: ModelPartOptions): ModelPart {
  if (model.layerInputs !== undefined)
    throw new InputError(
      `model ${model.name}`,
      'has embeddings of tokens for each of its layers, which only one processor by itself computes yet',
    );
  const layerSettings = {
    shape: model,
    normEpsilon: settings.normEpsilon,
    rotations: rotations(),
    promptExperts: promptExperts(kernels),
  };
  const activationsOf = createActivations(kernels, model, rotations(), mostTokens);
  /** Layers without their experts, their experts, and both. */
  const others = new Map<number, LayerWeights>();
  const ofExperts = new Map<number, LayerWeights>();
  const whole = new Map<number, LayerWeights>();
  const pieceOf = (known: Map<number, LayerWeights>, layer: number, piece: LayerPiece): LayerWeights => {
    const found = known.get(layer) ?? weights.layer(layer, piece);
    known.set(layer, found);
    return found;
  };
  const loadWhole = (layer: number): void => {
    if (whole.has(layer)) return;
    const own = pieceOf(others, layer, 'others');
    whole.set(layer, { ...own, products: { ...own.products, ...pieceOf(ofExperts, layer, 'experts').products } });
  };
  const embedding = lazily(weights.embedding);
  const output = lazily(weights.output);
  const logitsOf = lazily(() => growingRows(kernels, model.vocabularySize));
  const largest = largestLogits(kernels);
  const outputOf = (
    tokens: number,
    wanted: readonly TokenRange[] = [{ first: tokens - 1, count: 1 }],
    multiplied?: MultiplyOperation['multiplied'],
  ): { readonly logits: Vector; readonly operations: readonly Operation[] } => {
    const logits = logitsOf()(rowsOf(wanted));
    const own = { layerSettings, weights: output(), activations: activationsOf(tokens), logits, wanted, multiplied };
    return { logits, operations: outputPart(own).flatMap(({ operations }) => operations) };
  };
  /** The batches of a layer, for segments whose positions are written. */
  const batchesOf = (segments: readonly Segment[], experts: CrossedExperts | undefined) => {
    const activations = activationsOf(segments.reduce((sum, one) => sum + one.tokens, 0));
    const settings = { ...layerSettings, rotations: rotations() };
    const own = { activations, segments: passSegments(settings, activations, segments) };
    return (layer: number): LayerBatches => {
      const found = (experts?.has(layer) ? others : whole).get(layer) as LayerWeights;
      return layerBatches(layerSettings, found, layer, own);
    };
  };
  const stretchesOf = (segment: Segment, { from, to, experts }: LayersToRun): LayerStretch<readonly Operation[]>[] => {
    const batches = batchesOf([segment], experts);
    const stretches: LayerStretch<readonly Operation[]>[] = [];
    let program: Operation[] = [];
    for (let layer = from; layer < to; layer++) {
      const { operations, crossing } = batches(layer);
      program.push(...operations);
      if (crossing === undefined) continue;
      stretches.push({ program, crossing: { layer, ...crossing } });
      program = [...crossing.beyond];
    }
    return [...stretches, { program }];
  };
  /** Has experts of a layer multiplied on another processor. */
  const cross = async (
    { layer, values, sum }: { readonly layer: number } & Pick<ExpertsCrossing, 'values' | 'sum'>,
    segments: readonly Segment[],
    experts: CrossedExperts | undefined,
    meanwhile: () => void,
  ): Promise<void> => {
    const arriving = kernels.read(values);
    meanwhile();
    await arriving;
    await experts?.multiply(layer, segments, values.values);
    kernels.write(sum);
  };
  /** Seconds of the last layer, and its number of tokens. */
  let last = { seconds: Number.POSITIVE_INFINITY, tokens: 0 };

  // If operations are only encoded here, other events needn't be waited for between layers.
  const repeated = kernels.name === 'webgpu' ? repeatedLayers(kernels, stretchesOf) : undefined;

  return {
    model,
    settings,
    mostTokens,
    load(from, to, withoutExperts = 0) {
      for (let layer = from; layer < from + withoutExperts; layer++) pieceOf(others, layer, 'others');
      for (let layer = from + withoutExperts; layer < to; layer++) loadWhole(layer);
    },
    experts(from, to) {
      const own = new Map<number, LayerWeights>();
      for (let layer = from; layer < to; layer++) {
        const isMixture = model.kinds[layer]?.feedForward?.kind === 'experts';
        if (isMixture) own.set(layer, pieceOf(ofExperts, layer, 'experts'));
      }
      return createCrossedExperts({ kernels, settings: layerSettings, activationsOf, weights: own });
    },
    chosenExperts: () =>
      createChosenExperts({
        ...{ kernels, settings: layerSettings, activationsOf, mostTokens },
        weights: (layer) => pieceOf(ofExperts, layer, 'experts'),
      }),
    weightsOf(layer) {
      const found = whole.get(layer);
      if (found === undefined) throw new RangeError(`layer ${layer} is not loaded`);
      return found;
    },
    loadOutput() {
      output();
      logitsOf();
    },
    kernelsOf: () => kernels,
    layerPages: ({ from, to }, options) => {
      if (options.plan.layers !== to - from) throw new RangeError(`pages of ${options.plan.layers} layers`);
      return createLayerPages({ kernels, shape: model, firstLayer: from, ...options });
    },
    stream: (tokens) => activationsOf(tokens).x.values,
    arrive: (tokens) => kernels.write(activationsOf(tokens).x),
    leave: (tokens) => kernels.read(activationsOf(tokens).x),
    embed(tokens) {
      kernels.run(embedOperations(model, { table: embedding(), tokens, y: activationsOf(tokens.length).x }));
    },
    async run(from, to, segments, experts) {
      const tokens = segments.reduce((sum, one) => sum + one.tokens, 0);
      const { positions } = activationsOf(tokens);
      const [one] = segments;
      const again = segments.length === 1 && one && repeated?.stretches(one, { from, to, experts });
      if (again && one) {
        const { position } = one;
        writePositions(rotations(), positions, { first: 0, count: tokens, position });
        for (const vector of positionVectors(positions)) kernels.write(vector);
        for (const { program, crossing } of again) {
          program.run([], position);
          if (crossing) await cross(crossing, segments, experts, () => crossing.meanwhile.run([], position));
        }
        return;
      }
      const batches = batchesOf(segments, experts);
      for (const vector of positionVectors(positions)) kernels.write(vector);
      const runLayers = async (first: number, end: number): Promise<void> => {
        let parts: LayerBatches[] = [];
        for (let layer = first; layer < end; layer++) {
          const batch = batches(layer);
          const { crossing } = batch;
          if (cut?.layers.has(layer)) {
            runTogether(kernels, parts.splice(0));
            await cut.operations.runLayer(batch.operations, layer, tokens);
            continue;
          }
          parts.push(batch);
          if (beforeLayer !== undefined) {
            beforeLayer(layer);
            runTogether(kernels, parts.splice(0));
          }
          if (crossing === undefined) continue;
          runTogether(kernels, parts);
          await cross({ layer, ...crossing }, segments, experts, () => kernels.run(crossing.meanwhile));
          parts = [{ operations: crossing.beyond }];
        }
        runTogether(kernels, parts);
      };
      for (let layer = from; layer < to; ) {
        const together = tokens > last.tokens ? 1 : Math.max(1, Math.min(to - layer, Math.floor(TURN / last.seconds)));
        const start = performance.now();
        await runLayers(layer, layer + together);
        last = { seconds: (performance.now() - start) / 1000 / together, tokens };
        layer += together;
        if (layer < to) await otherEvents();
      }
    },
    async logits(tokens, wanted, multiplied) {
      const { logits, operations } = outputOf(tokens, wanted, multiplied);
      if (cut?.output) await cut.operations.runOutput(operations, logits.values.length / model.vocabularySize);
      else kernels.run(operations);
      await kernels.read(logits);
      return logits.values;
    },
    async hidden(tokens, wanted) {
      const activations = activationsOf(tokens);
      kernels.run(hiddenOperations({ layerSettings, weights: output(), activations }, wanted));
      const states = activations.h.slice(0, rowsOf(wanted) * model.hiddenSize);
      await kernels.read(states);
      return states.values;
    },
    largestLogits(tokens, k) {
      const { logits, operations } = outputOf(tokens);
      kernels.run(operations);
      return largest(logits, k);
    },
  };
}
