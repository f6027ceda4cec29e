import { loadClusterFile } from '../datasets/load.ts';
import { formatBytes, formatSeconds, threeDigits } from '../engine/terminal/format.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { logStep } from './lab/log-step.ts';
import { onLab } from './lab/on-lab.ts';
import { addLabOptions, type LabOptions, readLabOptions } from './lab/options.ts';
import { type LabResults, publishResults } from './lab/publish-results.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { findings, prefetchConflictReport } from './prefetch-conflict/report.ts';
import { runScene, type SceneResult } from './prefetch-conflict/run-scene.ts';
import { REAL_SCENES } from './prefetch-conflict/scenes.ts';

interface Options extends LabOptions {}

await runExperiment<Options>({
  name: 'prefetch-conflict',
  description:
    'Which layers are in memory when, on a real kernel and simulated, as prefetching meets too little of it (prima.cpp Figs. 3, 4 and 5).',
  configure: (command) =>
    addLabOptions(command, { out: 'results/prefetch-conflict', files: 'report.html and scenes.json', tokens: '5' }),
  run,
});

async function run(options: Options): Promise<void> {
  const { seed, tokens } = readLabOptions(options);
  const { cluster } = loadClusterFile('four-small');
  const parts = { cluster, models: options.models, size: 'small', seed } as const;
  const found = await onLab<LabResults>(parts, REAL_SCENES.length, async (session, progress) => {
    const results: SceneResult[] = [];
    for (const scene of REAL_SCENES) {
      logStep(`Fig. ${scene.figure}: ${scene.title}`);
      progress.step(scene.title);
      results.push(await runScene(session, scene, tokens));
    }
    const subtitle = `${session.model.name} on four devices of a lab, with memory for five of eight layers each · willneed in a thread, kernel reclaim`;
    const json = `${JSON.stringify({ settings: { tokens, seed }, probes: session.facts, scenes: results }, undefined, 1)}\n`;
    const report = renderReport(prefetchConflictReport(results, subtitle));
    return {
      subtitle,
      table: tableOf(results),
      findings: findings(results),
      report,
      json: ['scenes.json', json],
    };
  });
  publishResults(options, found);
}

function tableOf(results: readonly SceneResult[]): string {
  const right = (title: string) => ({ title, align: 'right' as const });
  return formatTable(
    [{ title: 'figure' }, { title: 'answer' }, right('TPOT'), right('read'), right('stall'), right('loads of a layer')],
    results.flatMap(({ scene, measured, simulated }) =>
      Object.entries({ measured, simulated }).map(([name, answer]) => [
        `${scene.figure}: ${scene.title}`,
        name,
        formatSeconds(answer.figures.seconds),
        formatBytes(answer.figures.bytes),
        formatSeconds(answer.figures.stall),
        threeDigits(answer.loads),
      ]),
    ),
  );
}
