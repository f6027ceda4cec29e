import { readChoice, readCount } from '../engine/terminal/options.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { prefetchReleaseReport } from './prefetch-release/report.ts';
import { SCENE_MODEL, SCENES } from './prefetch-release/scenes.ts';
import { observeScene, SCENE_RECLAIMS, type SceneResult } from './prefetch-release/steps.ts';
import { sceneText } from './prefetch-release/text.ts';

interface Options {
  readonly reclaim: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

await runExperiment<Options>({
  name: 'prefetch-release',
  description:
    'Which layers are in memory, step by step, when prefetching meets too little of it (prima.cpp Figs. 3, 4 and 5).',
  configure: (command) =>
    command
      .option('--reclaim <policy>', `how the OS reclaims: ${SCENE_RECLAIMS.join(' or ')}`, 'linux')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print the steps as JSON')
      .option(
        '--out <dir>',
        'where report.html, prefetch-release.csv and prefetch-release.json go',
        'results/prefetch-release',
      ),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const reclaim = readChoice('--reclaim', options.reclaim, SCENE_RECLAIMS);
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const results = SCENES.map((scene) => observeScene(scene, reclaim));
  const subtitle = `${SCENE_MODEL.name}, six on the device and six on the rest of the ring · reclaim ${reclaim}`;
  const json = `${JSON.stringify({ settings: { model: SCENE_MODEL.name, reclaim, seed }, figures: results.map(plainData) }, undefined, 2)}\n`;
  writeFiles(
    options.out,
    new Map([
      ['report.html', renderReport(prefetchReleaseReport(results, subtitle))],
      ['prefetch-release.csv', csvOf(results)],
      ['prefetch-release.json', json],
    ]),
  );
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  const texts = results.map((result) => {
    const { figure, title, room } = result.scene;
    return `Fig. ${figure}: ${title}, memory for ${room} layers\n\n${sceneText(result)}`;
  });
  process.stdout.write(
    `${subtitle}\n█ in memory  ▒ in part  · not\n\n${texts.join('\n')}\nReport: ${options.out}/report.html\n`,
  );
}

/** Seconds, and shares from 0 to 1; the devices are assumed, all else is simulated. */
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

function csvOf(results: readonly SceneResult[]): string {
  return toCsv(
    ['figure', 'time_s', 'event', 'event_layer', 'waited', 'layer', 'share_in_memory'],
    results.flatMap(({ scene, steps }) =>
      steps.flatMap(({ time, event, layer: subject, waited, residency }) =>
        [...residency].map(([layer, share]) => [scene.figure, time, event, subject, waited, layer, share]),
      ),
    ),
  );
}
