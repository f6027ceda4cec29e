import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster, loadPublished } from '../../../../datasets/load.ts';
import { contradictionsOf, leastReload } from '../../../../experiments/papers/prima/contradictions.ts';
import { withMemory } from '../../../../experiments/papers/prima/machines.ts';

const home = loadCluster('prima-home');
const catalogue = loadCatalogue();
const modelOf = (name: string) => createNamedModel(catalogue, name);

test('weights that don’t fit are read from all disks at once', () => {
  const model = modelOf('Qwen2.5-72B');
  const found = leastReload(home.devices, model, 1e9);
  assert.is(found.weights, model.layers * model.layer.bytes + model.output.bytes);
  assert.is(found.room, (2.4 + 4.1 + 9.7 + 1.9 + 8 + 11) * 2 ** 30);
  assert.is(Math.round(found.rate / 1e6), 720 + 2980 + 3000 + 1370);
  assert.is(found.seconds, (found.weights + 1e9 - found.room) / found.rate);
});

test('weights that fit take no time', () => {
  assert.is(leastReload(home.devices, modelOf('Llama-3-8B'), 0).seconds, 0);
});

test('Table 3 excludes two cells: 45B alone on D3, and the 72B in the ring', () => {
  const found = contradictionsOf(home, loadPublished(), modelOf);
  assert.equal(
    found.map(({ table, system, row, published, bound }) => [table, system, row, published, bound.toFixed(2)]),
    [
      ['4', 'llama.cpp', '45B', 0.328, '0.96'],
      ['9', 'prima.cpp', 'Qwen-2.5-72B', 0.867, '0.99'],
    ],
  );
});

test('with the memory that other cells need, D3 can do both', () => {
  assert.equal(contradictionsOf(withMemory(home, 'D3', 17.5 * 2 ** 30), loadPublished(), modelOf), []);
});

test.run();
