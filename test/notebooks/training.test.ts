import { readFileSync, statSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NamedTensor } from '../../engine/gguf/tensor-names.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { kernelsInMemory } from '../../engine/kernels/reference/kernels-in-memory.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { bitsPerByte, openModel } from '../../notebooks/a-model-in-the-page/open-model.ts';
import { encodeToy, randomToy, TOY } from '../../notebooks/a-model-in-the-page/toy.ts';
import { createAdam } from '../../notebooks/a-model-in-the-page/training/adam.ts';
import { readCorpus } from '../../notebooks/a-model-in-the-page/training/corpus.ts';
import { type Batch, createNetwork, type Network } from '../../notebooks/a-model-in-the-page/training/network.ts';

const [TEXTS, LENGTH] = [2, 6];
const SMALL = uniformShape({ ...TOY, layers: 2, hiddenSize: 16, ffnSize: 24, headSize: 4 });
const WAY = 'least recently used goes first';

function smallNetwork(): { readonly network: Network; readonly batch: Batch } {
  const { normal, integer } = randomStream(1, 'small network');
  const kernels = kernelsInMemory({ matrices: [], caches: [] });
  const sizes = { texts: TEXTS, length: LENGTH, normEpsilon: 1e-5, ropeBase: 10_000 };
  const network = createNetwork(kernels, { model: SMALL, ...sizes });
  for (const { name, weights } of network.parameters)
    for (let i = 0; i < weights.length; i++) weights[i] = name.includes('norm') ? 1 + 0.1 * normal() : 0.3 * normal();
  const ids = (): Uint16Array => Uint16Array.from({ length: TEXTS * LENGTH }, () => integer(0, 255));
  return { network, batch: { tokens: ids(), targets: ids() } };
}

test('the gradient of every tensor is the slope of the loss', () => {
  const { network, batch } = smallNetwork();
  const { integer } = randomStream(1, 'places');
  network.train(batch);
  const gradients = network.parameters.map(({ gradient }) => gradient.slice());
  for (const [index, { name, weights }] of network.parameters.entries()) {
    const gradient = gradients[index] as Float32Array;
    const used = name === 'token_embd.weight' ? (batch.tokens[0] as number) * SMALL.hiddenSize : undefined;
    for (const place of [used ?? integer(0, weights.length - 1), integer(0, weights.length - 1)]) {
      const before = weights[place] as number;
      const lossAt = (value: number): number => {
        weights[place] = value;
        return network.loss(batch);
      };
      const slope = (lossAt(before + 0.01) - lossAt(before - 0.01)) / 0.02;
      weights[place] = before;
      const error = Math.abs(slope - (gradient[place] as number));
      assert.ok(error < 3e-4 + 0.01 * Math.abs(slope), `${name}: ${slope}, ${gradient[place]}`);
    }
  }
});

test('the network computes what the engine computes of the file that is written of it', () => {
  const { network, batch } = smallNetwork();
  const byName = new Map(network.parameters.map(({ name, weights }) => [name, weights]));
  const weights = ({ name }: NamedTensor): Float32Array => byName.get(name) as Float32Array;
  const file = encodeToy({ shape: SMALL, type: 'F32', description: 'test', weights });
  let nats = 0;
  for (let text = 0; text < TEXTS; text++) {
    const { transformer, seen } = openModel({ file, contextLength: LENGTH, room: 2, way: WAY });
    const part = (ids: Uint16Array): number[] => [...ids.slice(text * LENGTH, (text + 1) * LENGTH)];
    transformer.evaluate(part(batch.tokens));
    for (const [at, target] of part(batch.targets).entries()) {
      const logits = seen.logits.at(-1)?.[at] as Float32Array;
      const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
      nats += Math.log(total) - (logits[target] as number);
    }
  }
  assert.ok(Math.abs(nats / (TEXTS * LENGTH) - network.loss(batch)) < 1e-5);
});

test('steps of Adam lower the loss of a batch', () => {
  const { network, batch } = smallNetwork();
  const step = createAdam(network.parameters);
  const first = network.train(batch);
  for (let steps = 0; steps < 30; steps++) {
    step({ rate: 0.01, decay: 0, clip: 1 });
    network.train(batch);
  }
  assert.ok(network.loss(batch) < first / 2);
});

test('the corpus is prose in ASCII, and no paragraph is both trained on and held out', () => {
  const { training, heldOut } = readCorpus('.');
  assert.ok(training.length > 200_000);
  assert.not(/[^\n -~]/.test(training + heldOut));
  const trained = new Set(training.split('\n'));
  assert.equal(
    heldOut.split('\n').filter((paragraph) => trained.has(paragraph)),
    [],
  );
});

test('the shipped model is small, and expects English far better than random weights do', () => {
  const path = 'datasets/models/toy.gguf';
  assert.ok(statSync(path).size < 1e6);
  const text = 'The weights of a layer are read from the disk.';
  const bitsOf = (file: Uint8Array): number => {
    const { transformer, seen } = openModel({ file, contextLength: 64, room: 6, way: WAY });
    const tokens = [...new TextEncoder().encode(text)];
    transformer.evaluate(tokens);
    return bitsPerByte(seen, tokens);
  };
  assert.ok(bitsOf(readFileSync(path)) < 3);
  assert.ok(bitsOf(randomToy(1)) > 7);
});

test.run();
