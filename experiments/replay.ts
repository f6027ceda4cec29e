import { createNamedModel, loadCatalogue, loadClusterFile } from '../datasets/load.ts';
import { InputError } from '../engine/input/input-error.ts';
import { layersText } from '../engine/plan/plan-text.ts';
import { perfettoTrace } from '../engine/trace/perfetto.ts';
import { REPLAY_OPTIONS } from './replay/options.ts';
import { planOf } from './replay/plan.ts';
import { replay } from './replay/replay.ts';
import { devicesTable, finding, pressure, replayPage, summaryTable } from './replay/report.ts';
import { terminalTable } from './report/columns.ts';
import { fileJson, runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';

await runExperiment({
  name: 'replay',
  description: 'Replays a plan event by event: what each token takes, what every device does meanwhile, and when.',
  options: REPLAY_OPTIONS,
  json: 'replay.json',
  files: ['plan.json', 'trace.json (for ui.perfetto.dev)'],
  seed: { help: 'of noise, jitter and loss of links' },
  async run(options) {
    const { reclaim, prompt, tokens, noise, taken, seed } = options;
    const loaded = loadClusterFile(options.cluster);
    const { cluster } = loaded;
    const model = createNamedModel(loadCatalogue(options.modelFile), options.model);
    const plan = await planOf(options, cluster, model);
    const result = replay({ ...options, cluster, model, plan });
    const { simulated, predicted, overlapped, metrics } = result;
    const shortage = simulated.outOfMemory[0];
    if (shortage !== undefined)
      throw new InputError('out of memory', `${shortage.reason}; take another plan or a shorter context`);
    const settings = { cluster: cluster.name, model: `${model.name}:${model.mix}`, reclaim, prompt, tokens };
    return {
      subtitle: [
        `${modelText(model)}, on ${cluster.name}, ${plan.scheduler}’s plan: ${layersText(plan)}; ${plan.rounds} round${plan.rounds === 1 ? '' : 's'}`,
        `reclaim ${reclaim}`,
        `prompt of ${prompt}, ${tokens} tokens`,
        ...(noise > 0 ? [`noise ${noise}`] : []),
        ...Object.keys(taken).map((device) => `other apps take memory of ${device}`),
      ].join(' · '),
      findings: [finding(result)],
      data: {
        settings: { ...settings, noise, taken, seed },
        plan,
        predicted: { tpot_s: predicted.tokenSeconds, reloaded_bytes_per_token: predicted.reloadedBytes },
        ...(overlapped && { predicted_with_overlap: overlapped }),
        simulated: {
          metrics,
          tokens_s: simulated.trace.tokens.map(({ start, end }) => end - start),
          devices: simulated.devices.map((device) => ({ ...device, memoryPressure: pressure(device) })),
        },
      },
      text: [terminalTable(summaryTable(result)), terminalTable(devicesTable(result), 140)],
      page: replayPage(result, options.show),
      files: { 'plan.json': fileJson(plan), 'trace.json': `${JSON.stringify(perfettoTrace(simulated.trace))}\n` },
      clusters: [loaded],
    };
  },
});
