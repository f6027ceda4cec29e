import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { seenBytes, seenPositions, stateBytes } from '../../engine/model/kept-bytes.ts';
import { contextCost, MODELS, withoutWindows } from '../../notebooks/layers-that-differ/context.ts';

const catalogue = loadCatalogue();
const named = (name: string) => createNamedModel(catalogue, name);

test('what layers read adds up to what cost models count for the model', () => {
  for (const model of MODELS.map(named))
    for (const tokens of [1, 700, 5000]) {
      const counted = model.layers * (seenBytes(model, seenPositions(tokens)) + stateBytes(model));
      const { read } = contextCost(model, tokens);
      assert.ok(Math.abs(read / counted - 1) < 1e-9, `${model.name}: ${read} and ${counted}`);
    }
});

test('full attention grows with the context, a window until it is full, a state never', () => {
  const growth = (name: string, way: string) => {
    const layer = contextCost(named(name), 1).layers.findIndex((one) => one.way === way);
    const [few, some, many] = [100, 2000, 4000].map(
      (tokens) => contextCost(named(name), tokens).layers[layer]?.read ?? 0,
    );
    return [(some ?? 0) / (few ?? 0), (many ?? 0) / (some ?? 0)];
  };
  assert.equal(growth('Llama-3.1-70B', 'reads all tokens'), [20, 2]);
  assert.equal(growth('Gemma-3-27B', 'reads a window'), [10.24, 1]);
  assert.equal(growth('Qwen3-Next-80B-A3B', 'has a state'), [1, 1]);
});

test('a token of the 70B adds 320 KiB; a latent layer reads 576 values in place of 40,960', () => {
  assert.is(contextCost(named('Llama-3.1-70B'), 1).read, 80 * 2 * 8 * 128 * 2);
  assert.is(contextCost(named('DeepSeek-V3'), 1).layers[0]?.read, 576 * 2);
  assert.is(withoutWindows(named('Llama-3.1-70B'), 4096), contextCost(named('Llama-3.1-70B'), 4096).read);
});

test.run();
