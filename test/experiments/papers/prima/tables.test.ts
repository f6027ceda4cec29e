import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { targetOf } from '../../../../experiments/papers/prima/tables.ts';

test('cells have the targets that are claimed', () => {
  assert.is(targetOf('8', 'llama.cpp', 'Llama-3-70B')?.limit, 0.05);
  assert.is(targetOf('8', 'llama.cpp', 'Llama-3-14B'), undefined);
  assert.is(targetOf('4', 'llama.cpp', 'Llama-3-60B')?.limit, 0.15);
  assert.is(targetOf('9', 'llama.cpp', 'Qwen2.5-32B')?.limit, 0.15);
  assert.is(targetOf('4', 'prima.cpp-no-halda', 'Llama-1-65B')?.limit, 0.25);
  assert.is(targetOf('4', 'prima.cpp-no-halda', 'Llama-3-8B'), undefined);
  for (const table of ['4', '8', '9']) assert.is(targetOf(table, 'prima.cpp', 'Llama-3-70B')?.limit, 0.25);
});

test('nothing is claimed on Tables 5, 7 and 10, on exo and on dllama', () => {
  for (const table of ['5', '7', '10']) assert.is(targetOf(table, 'prima.cpp', 'Llama-3-70B'), undefined);
  for (const system of ['exo', 'dllama']) assert.is(targetOf('4', system, 'Llama-3-8B'), undefined);
});

test.run();
