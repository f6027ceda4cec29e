import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPublished } from '../../datasets/load.ts';
import { publishedTpot } from '../../datasets/published-systems.ts';

const cells = loadPublished();

function tpot(scheduler: string, cluster: string, model: string): unknown[] | undefined {
  const found = publishedTpot(cells, { scheduler, cluster, model });
  return found && [found.cell.table, found.cell.column, found.seconds];
}

test('exact and heuristic planners are compared with prima.cpp', () => {
  for (const scheduler of ['halda', 'halda-repaired', 'optimal', 'milp']) {
    assert.equal(tpot(scheduler, 'prima-home', 'Llama-3-70B'), ['Table 4', 'prima.cpp TPOT', 0.674]);
  }
});

test('memory-ratio is compared with prima.cpp without Halda', () => {
  assert.equal(tpot('memory-ratio', 'prima-home', 'Llama-1-65B'), ['Table 4', 'prima.cpp (w/o halda) TPOT', 12.253]);
});

test('single-device is compared with llama.cpp on the head of the testbed', () => {
  assert.equal(tpot('single-device', 'prima-home', 'Llama-3-70B'), ['Table 4', 'llama.cpp TPOT', 10.12]);
  assert.equal(tpot('single-device', 'prima-home-metal', 'Llama-3-70B'), ['Table 4', 'llama.cpp TPOT', 10.12]);
  assert.is(tpot('single-device', 'prima-a5', 'Llama-3-8B')?.[2], 0.015);
  assert.is(tpot('single-device', 'helm-4060', 'Qwen3-8B'), undefined);
});

test('cpu-gpu-split is compared with HELM', () => {
  assert.is(typeof tpot('cpu-gpu-split', 'helm-4060', 'Qwen3-8B')?.[2], 'number');
});

test('a model precedes its distillations, and a newer paper an older one', () => {
  assert.equal(tpot('optimal', 'prima-home', 'Qwen2.5-14B'), ['Table 9', 'prima.cpp', 0.023]);
  assert.equal(tpot('optimal', 'prima-home', 'Llama-3-8B'), ['Table 4', 'prima.cpp TPOT', 0.015]);
});

test('a scheduler that no paper ran has no cell', () => {
  assert.is(tpot('compute-ratio', 'prima-home', 'Llama-3-70B'), undefined);
  assert.is(tpot('hand', 'prima-home', 'Llama-3-70B'), undefined);
  assert.is(tpot('optimal', 'home-example', 'Llama-3-70B'), undefined);
});

test.run();
