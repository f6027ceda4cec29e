import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { speculativeSeconds } from '../../engine/cost/speculation.ts';
import { withDevices } from '../../engine/hardware/cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { answer, type RunnableAnswer } from '../../planner/answer.ts';
import { closedFormSeconds } from '../../planner/candidates.ts';
import { plannedDrafts } from '../../planner/draft-answers.ts';
import type { Question } from '../../planner/question.ts';

const test = suite('planned drafts');
const catalogue = loadCatalogue();
const home = loadCluster('prima-home');
const draft = createNamedModel(catalogue, 'Llama-3.2-3B');

function asked(model: string, cluster = home): { question: Question; plain: RunnableAnswer } {
  const question = { cluster, model: createNamedModel(catalogue, model), workload: createWorkload({ context: 1024 }) };
  const plain = answer(question, { simulates: true });
  if (plain.status === 'does-not-fit') throw new Error(plain.reason);
  return { question, plain };
}

test('where weights come from disks drafts pay, the more of them the more are accepted; the simulation agrees', () => {
  const { question, plain } = asked('Llama-3-70B');
  const acceptanceRates = [0, 0.6, 0.8, 0.9];
  const { device, draftBytes, answers } = plannedDrafts({ question, plain, draft, acceptanceRates, most: 16 });
  assert.is(device, 'D3');
  assert.ok(draftBytes > draft.bytes);
  const gains = answers.map(({ predictedGain }) => predictedGain);
  assert.equal(
    gains,
    gains.toSorted((one, other) => one - other),
  );
  assert.is(answers[0]?.draftTokens, 0);
  assert.ok((gains[2] ?? 0) > 1.5, `×${gains[2]} with 80 % accepted`);
  for (const { acceptanceRate, predictedGain, simulatedGain } of answers)
    assert.ok(
      Math.abs(predictedGain / simulatedGain - 1) < 0.2,
      `${acceptanceRate}: ${predictedGain}, ${simulatedGain}`,
    );
});

test('no other number of drafted tokens has a better prediction, and the plan leaves room for the draft', () => {
  const { question, plain } = asked('Llama-3-45B');
  const planned = plannedDrafts({ question, plain, draft, acceptanceRates: [0.8], most: 16 });
  const { answered, cluster, draftSeconds, draftBytes, answers } = planned;
  const [head, before] = [cluster, question.cluster].map(({ devices }) => devices.find(({ name }) => name === 'D3'));
  assert.is((before?.memory.available ?? 0) - (head?.memory.available ?? 0), draftBytes);
  const secondsWith = (draftTokens: number): number =>
    speculativeSeconds({
      ...{ acceptanceRate: 0.8, draftTokens, draftSeconds },
      verifySeconds: (tokens) => closedFormSeconds({ ...question, belief: cluster }, answered.plan, tokens),
    });
  const chosen = answers[0]?.draftTokens ?? 0;
  for (let tokens = 0; tokens <= 16; tokens++) assert.ok(secondsWith(chosen) <= secondsWith(tokens), String(tokens));
});

test('a draft that leaves too little room is refused in a line', () => {
  const { question, plain } = asked('Llama-3-8B', withDevices(home, ['D1']));
  const large = createNamedModel(catalogue, 'Llama-3-14B');
  assert.throws(
    () => plannedDrafts({ question, plain, draft: large, acceptanceRates: [0.8], most: 16 }),
    /^--draft: Llama-3-14B takes .* of D1; without them: /,
  );
});

test.run();
