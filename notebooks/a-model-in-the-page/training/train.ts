import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomWeights } from '../../../engine/gguf/make/random-weights.ts';
import { namedTensors } from '../../../engine/gguf/tensor-names.ts';
import { type RandomStream, randomStream } from '../../../engine/input/random-stream.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { encodeToy, TOY_SHAPE } from '../toy.ts';
import { createAdam } from './adam.ts';
import { readCorpus } from './corpus.ts';
import { type Batch, createNetwork, type Parameter } from './network.ts';

/**
 * Trains the lesson's model on this project's own prose with the engine's own kernels, and writes datasets/models/toy.gguf:
 * `npx tsx notebooks/a-model-in-the-page/training/train.ts [MINUTES]`. The learning rate follows a cosine over the time.
 */

const SEED = 1;
const TEXTS = 12;
const LENGTH = 96;
/** As madeModel writes them for llamas. */
const [NORM_EPSILON, ROPE_BASE] = [1e-5, 10_000];
const [RATE, LAST_RATE, WARM_UP] = [3e-3, 1e-4, 100];
const ADAM = { decay: 0.05, clip: 1 };
const ROOT = join(import.meta.dirname, '../../..');

const minutes = Number(process.argv[2] ?? 15);
const { training, heldOut } = readCorpus(ROOT);
const kernels = openKernels({ implementation: 'auto', threads: 1 });
const shape = { model: TOY_SHAPE, texts: TEXTS, length: LENGTH, normEpsilon: NORM_EPSILON, ropeBase: ROPE_BASE };
const network = createNetwork(kernels, shape);
initialise(network.parameters);
const step = createAdam(network.parameters);
const stream = randomStream(SEED, 'batches');
const begin = performance.now();
const say = (line: string): boolean => process.stderr.write(`${line}\n`);
say(`${training.length} bytes to train on, ${heldOut.length} held out; ${kernels.name} kernels`);

let [steps, mean] = [0, Math.log(256)];
for (let share = 0; share < 1; share = (performance.now() - begin) / 60_000 / minutes) {
  mean += 0.02 * (network.train(batchOf(training, stream)) - mean);
  const cosine = LAST_RATE + ((RATE - LAST_RATE) * (1 + Math.cos(Math.PI * share))) / 2;
  step({ ...ADAM, rate: cosine * Math.min(1, ++steps / WARM_UP) });
  if (steps % 100 === 0)
    say(`${steps} steps, ${(mean / Math.LN2).toFixed(3)} bits a byte, ${Math.round(100 * share)} %`);
}

const bits = heldOutLoss() / Math.LN2;
const description =
  `trained on Hearth's own documentation, ${steps} steps of ${TEXTS * LENGTH} bytes; ` +
  `${bits.toFixed(2)} bits a byte on paragraphs that were held out`;
const byName = new Map(network.parameters.map((parameter) => [parameter.name, parameter.weights]));
const weights = ({ name }: { readonly name: string }) => byName.get(name) as Float32Array;
writeFileSync(
  join(ROOT, 'datasets/models/toy.gguf'),
  encodeToy({ shape: TOY_SHAPE, type: 'Q8_0', description, weights }),
);
say(description);
kernels.close();

function initialise(parameters: readonly Parameter[]): void {
  const draw = randomWeights(TOY_SHAPE, SEED);
  const tensors = new Map(namedTensors(TOY_SHAPE).map((tensor) => [tensor.name, tensor]));
  for (const { name, weights: values } of parameters) {
    const tensor = tensors.get(name);
    if (tensor !== undefined && !name.includes('norm')) values.set(draw({ tensor, from: 0, count: values.length }));
  }
}

function batchOf(text: string, { integer }: RandomStream): Batch {
  const tokens = new Uint16Array(TEXTS * LENGTH);
  const targets = new Uint16Array(TEXTS * LENGTH);
  for (let row = 0; row < TEXTS; row++) {
    const from = integer(0, text.length - LENGTH - 1);
    for (let i = 0; i < LENGTH; i++) {
      tokens[row * LENGTH + i] = text.charCodeAt(from + i);
      targets[row * LENGTH + i] = text.charCodeAt(from + i + 1);
    }
  }
  return { tokens, targets };
}

/** Nats a byte over batches of held-out text. */
function heldOutLoss(): number {
  const draw = randomStream(SEED, 'held out');
  const losses = Array.from({ length: 20 }, () => network.loss(batchOf(heldOut, draw)));
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}
