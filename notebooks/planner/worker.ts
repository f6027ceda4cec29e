import { hasUnifiedGpu } from '../../engine/hardware/device.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { type Answer, answer } from '../../planner/answer.ts';
import { type Change, upgradeParts, upgrades, withoutDevices } from '../../planner/changes.ts';
import { type CommandLine, commandLines } from '../../planner/command-lines.ts';
import { DEVICES } from '../lib/devices.ts';

/** A question to the planner, as plain data. */
export interface PlannerQuestion {
  readonly id: number;
  /** A cluster file (JSON). */
  readonly clusterText: string;
  readonly clusterName: string;
  readonly model: Model;
  readonly prompt: number;
  readonly context: number;
  /** `predict`: closed forms; `simulate`: plans ranked by simulation; `detail`: and what changes would do. */
  readonly depth: 'predict' | 'simulate' | 'detail';
}

export interface PlannerReply {
  readonly id: number;
  readonly answer: Answer;
  /** Devices whose GPU shares their RAM. */
  readonly unified: readonly string[];
  readonly without: readonly Change[];
  readonly upgrades: readonly Change[];
  readonly commands: readonly CommandLine[];
}

const BOUGHT = upgradeParts(DEVICES);

/** Answers in a thread of its own, so that the page stays responsive. */
self.onmessage = ({ data }: MessageEvent<PlannerQuestion>): void => {
  self.postMessage(replyTo(data));
};

function replyTo({ id, clusterText, clusterName, model, prompt, context, depth }: PlannerQuestion): PlannerReply {
  const cluster = parseCluster(clusterText, clusterName);
  const workload = createWorkload({ promptTokens: prompt, context: Math.max(prompt, context) });
  const question = { cluster, model, workload };
  const found = answer(question, { simulates: depth !== 'predict', carried: depth === 'detail' });
  const unified = cluster.devices.filter(hasUnifiedGpu).map(({ name }) => name);
  if (depth !== 'detail') return { id, answer: found, unified, without: [], upgrades: [], commands: [] };
  const carried = { cluster, clusterFile: 'cluster.json', file: `${model.name}-${model.mix}.gguf`, context };
  const plans = found.status === 'does-not-fit' ? [] : [found.plan, found.wholeLayers?.plan, found.carried?.plan];
  const commands = plans.flatMap((plan) => (plan === undefined ? [] : commandLines({ ...carried, plan })));
  return {
    id,
    answer: found,
    unified,
    without: withoutDevices(question),
    upgrades: upgrades(question, BOUGHT),
    commands,
  };
}
