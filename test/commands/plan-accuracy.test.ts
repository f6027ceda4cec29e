import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { accuracyText } from '../../commands/plan-accuracy.ts';
import { loadFieldAccuracy } from '../../datasets/field.ts';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { answer, type RunnableAnswer } from '../../planner/answer.ts';

const cluster = loadCluster('prima-home');
const catalogue = loadCatalogue();

function textOf(name: string): string {
  const question = { cluster, model: createNamedModel(catalogue, name), workload: createWorkload({ context: 1024 }) };
  const found = answer(question, { simulates: false }) as RunnableAnswer;
  return accuracyText(found, cluster, loadFieldAccuracy());
}

test('a plan says how far such predictions have been off, or that nobody knows', () => {
  const part = (phase: string, name: string) => {
    const { median, ninetieth, cells, machines } =
      loadFieldAccuracy().find((one) => one.processor === 'discrete' && !one.several && one.phase === phase) ?? {};
    return `${name} off by ${Math.round(100 * ((median ?? 0) - 1))} % in the median, 90 % within × ${ninetieth?.toFixed(2)} (${cells} measurements of ${machines} machines)`;
  };
  assert.is(
    textOf('Llama-3-8B:Q4_K_M'),
    `on GPUs with their own memory, by specification: ${part('decode', 'tokens')}; ${part('prefill', 'prompts')}`,
  );
  assert.match(textOf('Qwen3-32B:Q4_K_M'), /^unknown for such a plan: /);
  assert.match(textOf('Llama-3-70B:Q4_K_M'), /^unknown where weights are read from disks: /);
});

test.run();
