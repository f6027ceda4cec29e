import { createNamedModel, loadCatalogue, loadClusterFile, loadPlan } from '../datasets/load.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { validatePlan } from '../engine/plan/validate-plan.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { SCHEDULERS, type SchedulerName } from '../engine/schedule/registry.ts';
import { ringAware } from '../engine/schedule/ring-aware/ring-aware.ts';
import type { Scheduled, SchedulingProblem } from '../engine/schedule/scheduler.ts';
import { withChips } from '../engine/schedule/tensor-partition/with-chips.ts';
import { wrapText } from '../engine/terminal/table.ts';
import { perfettoTrace } from '../engine/trace/perfetto.ts';
import { simulatedReclaim } from '../simulator/options.ts';
import { simulatedSeconds } from '../simulator/simulated-seconds.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { type ReplayOptions, replayOptions } from './replay/options.ts';
import { closedForm, type Replay, replay } from './replay/replay.ts';
import { findings, replayReport } from './replay/report.ts';
import { pressure, replayTable } from './replay/table.ts';
import { layersText } from './report/plan-text.ts';

/** Seconds for one integer program of a scheduler that needs them. */
const SOLVER_SECONDS = 20;

await runExperiment<ReplayOptions>({
  name: 'replay',
  description: 'Replays a plan event by event: what each token takes, what every device does meanwhile, and when.',
  configure: replayOptions,
  run,
});

async function run(options: ReplayOptions): Promise<void> {
  checkOutput(options.out);
  const { cluster, statements } = loadClusterFile(options.cluster);
  const model = createNamedModel(loadCatalogue(options.modelFile), options.model);
  const plan = await planOf(options, cluster, model);
  const result = replay({ ...options, cluster, model, plan });
  const shortage = result.simulated.outOfMemory[0];
  if (shortage !== undefined)
    throw new InputError('out of memory', `${shortage.reason}; take another plan or a shorter context`);
  const subtitle = [
    `${plan.scheduler}'s plan: ${layersText(plan)}; ${plan.rounds} round${plan.rounds === 1 ? '' : 's'}`,
    `reclaim ${options.reclaim}`,
    `prompt of ${options.prompt}, ${options.tokens} tokens`,
    ...(options.noise > 0 ? [`noise ${options.noise}`] : []),
    ...Object.keys(options.taken).map((device) => `other apps take memory of ${device}`),
  ].join(' · ');
  const json = `${JSON.stringify(jsonOf(result, options), undefined, 2)}\n`;
  const files = new Map([
    ['report.html', renderReport(replayReport({ run: result, subtitle, statements, show: options.show }))],
    ['replay.json', json],
    ['plan.json', `${JSON.stringify(plan, undefined, 2)}\n`],
    ['trace.json', `${JSON.stringify(perfettoTrace(result.simulated.trace))}\n`],
  ]);
  writeFiles(options.out, files);
  if (options.json) process.stdout.write(json);
  else {
    const text = wrapText(findings(result), 118).join('\n');
    process.stdout.write(`${model.name} on ${cluster.name}, ${subtitle}\n\n${replayTable(result)}\n${text}\n\n`);
    process.stdout.write(
      `Report: ${options.out}/report.html (beside it replay.json, plan.json, trace.json for ui.perfetto.dev)\n`,
    );
  }
}

async function planOf(options: ReplayOptions, belief: Cluster, model: Model): Promise<Plan> {
  const { plan: file, scheduler, reclaim, prompt, tokens } = options;
  if (file !== undefined) {
    const plan = loadPlan(file);
    validatePlan(plan, belief, model, `--plan ${file}`);
    return plan;
  }
  const workload = createWorkload({ promptTokens: prompt, context: prompt + tokens - 1 });
  const problem = { belief, model, workload, reclaim: closedForm(reclaim) };
  const scheduled = scheduler === 'ring-aware' ? ranked(problem, reclaim) : await solved(scheduler, problem);
  if (scheduled.plan === undefined) throw new InputError(`--scheduler ${scheduler}`, scheduled.message);
  return scheduled.plan;
}

/** The plan of `ring-aware` that is the fastest in simulation, which finds chips cut for this prompt. */
function ranked(problem: SchedulingProblem, reclaim: ReplayOptions['reclaim']): Scheduled {
  const { belief, model, workload } = problem;
  const prompt = workload.promptTokens;
  const seconds = simulatedSeconds({ cluster: belief, model, workload, reclaim: simulatedReclaim(reclaim), prompt });
  return withChips((given, cut) => ringAware(given, { simulated: (plan) => seconds(cut(plan)) }))(problem);
}

async function solved(scheduler: SchedulerName, problem: SchedulingProblem): Promise<Scheduled> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    return SCHEDULERS[scheduler].plan(problem, solver);
  } finally {
    solver.dispose();
  }
}

/** Everything but the trace. */
function jsonOf({ cluster, model, plan, predicted, simulated, metrics }: Replay, options: ReplayOptions) {
  const { reclaim, prompt, tokens, noise, taken, seed } = options;
  return {
    settings: {
      cluster: cluster.name,
      model: `${model.name}:${model.mix}`,
      reclaim,
      prompt,
      tokens,
      noise,
      taken,
      seed,
    },
    plan,
    predicted: { tpot_s: predicted.tokenSeconds, reloaded_bytes_per_token: predicted.reloadedBytes },
    simulated: {
      metrics,
      tokens_s: simulated.trace.tokens.map(({ start, end }) => end - start),
      devices: simulated.devices.map((device) => ({ ...device, memoryPressure: pressure(device) })),
    },
  };
}
