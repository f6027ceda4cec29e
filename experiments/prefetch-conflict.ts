import { loadClusterFile } from '../datasets/load.ts';
import { FOUR_DEVICES, LAB_SEED, labOptions } from './lab/experiment.ts';
import { logStep, onLab } from './lab/session.ts';
import { findings, prefetchConflictPage, sceneTable } from './prefetch-conflict/report.ts';
import { runScene, type SceneResult } from './prefetch-conflict/run-scene.ts';
import { REAL_SCENES } from './prefetch-conflict/scenes.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';

await runExperiment({
  name: 'prefetch-conflict',
  description:
    'Which layers are in memory when, measured on Linux and simulated, as prefetching meets too little memory (prima.cpp Figs. 3, 4 and 5).',
  options: labOptions(5),
  json: 'scenes.json',
  seed: LAB_SEED,
  async run({ models, tokens, seed }, { progress }) {
    const { cluster } = loadClusterFile(FOUR_DEVICES);
    const bar = progress(REAL_SCENES.length);
    return onLab({ cluster, models, size: 'small', seed }, async (session) => {
      const scenes: SceneResult[] = [];
      for (const scene of REAL_SCENES) {
        logStep(`Fig. ${scene.figure}: ${scene.title}`);
        bar.step(scene.title);
        scenes.push(await runScene(session, scene, tokens));
      }
      return {
        subtitle: `${session.model.name} on four devices of a lab, with memory for five of eight layers each · willneed in a thread, Linux’s reclaim`,
        findings: findings(scenes),
        text: [terminalTable(sceneTable(scenes))],
        data: { settings: { tokens, seed }, probes: session.facts, scenes },
        page: prefetchConflictPage(scenes),
      };
    });
  },
});
