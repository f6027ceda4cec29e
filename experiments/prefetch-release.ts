import { prefetchReleasePage, STEPS, stepRows, summaryOf } from './prefetch-release/report.ts';
import { SCENE_MODEL, SCENES } from './prefetch-release/scenes.ts';
import { observeScene, SCENE_RECLAIMS, type SceneResult } from './prefetch-release/steps.ts';
import { sceneText } from './prefetch-release/text.ts';
import { tableCsv } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice } from './report/options.ts';

await runExperiment({
  name: 'prefetch-release',
  description:
    'Which layers are in memory, step by step, when prefetching meets too little of it (prima.cpp Figs. 3, 4 and 5).',
  options: {
    reclaim: choice(
      '--reclaim <policy>',
      `how the OS reclaims: ${SCENE_RECLAIMS.join(' or ')}`,
      SCENE_RECLAIMS,
      'linux',
    ),
  },
  json: 'prefetch-release.json',
  files: ['prefetch-release.csv'],
  run({ reclaim, seed }) {
    const results = SCENES.map((scene) => observeScene(scene, reclaim));
    return {
      subtitle: `${SCENE_MODEL.name}, six on the device and six on the rest of the ring · reclaim ${reclaim}`,
      findings: [summaryOf(results)],
      data: { settings: { model: SCENE_MODEL.name, reclaim, seed }, figures: results.map(plainData) },
      text: ['█ in memory  ▒ in part  · not', ...results.map(titledText)],
      page: prefetchReleasePage(results),
      files: { 'prefetch-release.csv': tableCsv({ columns: STEPS, rows: results.flatMap(stepRows) }) },
    };
  },
});

function titledText(result: SceneResult): string {
  const { figure, title, room } = result.scene;
  return `Fig. ${figure}: ${title}, memory for ${room} layers\n\n${sceneText(result)}`;
}

/** Seconds, and shares from 0 to 1; the devices are assumed, everything else is simulated. */
function plainData({ scene, steps, loads }: SceneResult): unknown {
  const { figure, title, room, cluster, plan } = scene;
  return {
    figure,
    title,
    room,
    provenance: 'assumed',
    devices: cluster.devices.map(({ name, memory, cpu, disk }) => ({
      name,
      memoryAvailable: memory.available,
      memoryBandwidth: cpu.bandwidth,
      diskRate: disk.sequential,
    })),
    plan,
    steps: steps.map((step) => ({ ...step, residency: Object.fromEntries(step.residency) })),
    loads: Object.fromEntries(loads),
  };
}
