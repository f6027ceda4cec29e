import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster, loadPublished } from '../../../../datasets/load.ts';
import { LLAMA_CPP, PRIMA_CPP } from '../../../../experiments/lib/reproduce/program.ts';
import { leastCpuLayers, roomBound } from '../../../../experiments/lib/reproduce/room-bound.ts';

/** Table 5, D3. */
function pressure(row: string, system: string): number {
  const cell = loadPublished().find(
    (one) => one.paper === 'prima-cpp' && one.table === 'Table 5' && one.row === row && one.column === `${system} D3`,
  );
  return Number(cell?.value) / 100;
}

test('as many tokens where pressures and layers are alike', () => {
  const alike = { llamaWithoutCache: 0.02, llama: 0.12, prima: 0.1, llamaCpuLayers: 10, llamaRoom: 1024 };
  assert.is(Math.round(roomBound(10, alike)), 1024);
  assert.is(Math.round(roomBound(20, alike)), 512);
});

test('at 65B D3 has 13 layers or more on its CPU', () => {
  const model = createNamedModel(loadCatalogue(), 'Llama-1-65B');
  assert.is(leastCpuLayers(loadCluster('prima-home'), model), 13);
});

test('Table 5 leaves prima.cpp room for 330 tokens where llama.cpp has 1024, and 256 are taken', () => {
  const bound = roomBound(13, {
    llamaWithoutCache: pressure('8B', 'llama.cpp'),
    llama: pressure('65B', 'llama.cpp'),
    prima: pressure('65B', 'prima.cpp'),
    llamaCpuLayers: 57,
    llamaRoom: LLAMA_CPP.room,
  });
  assert.is(Math.round(bound), 330);
  assert.ok(PRIMA_CPP.room <= bound);
});

test.run();
