import { loadClusterFile } from '../datasets/load.ts';
import { formatBytes, formatSeconds, threeDigits } from '../engine/terminal/format.ts';
import { readCount } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { addLabOptions, type LabOptions } from './lib/lab/lab-options.ts';
import { openSession } from './lib/lab/lab-session.ts';
import { SKIPPED_TOKENS } from './lib/lab/token-figures.ts';
import { findings, prefetchConflictReport } from './lib/prefetch-conflict/report.ts';
import { runScene, type SceneResult } from './lib/prefetch-conflict/run-scene.ts';
import { REAL_SCENES } from './lib/prefetch-conflict/scenes.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

interface Options extends LabOptions {
  readonly tokens: string;
}

await runExperiment<Options>({
  name: 'prefetch-conflict',
  description:
    'Which layers are in memory when, on a real kernel and simulated, as prefetching meets too little of it (prima.cpp Figs. 3, 4 and 5).',
  configure: (command) =>
    addLabOptions(command, 'results/prefetch-conflict', 'report.html and scenes.json').option(
      '--tokens <n>',
      `of each run; the first ${SKIPPED_TOKENS} do not count`,
      '4',
    ),
  run,
});

async function run(options: Options): Promise<void> {
  checkOutput(options.out);
  const tokens = readCount('--tokens', options.tokens, SKIPPED_TOKENS + 1, 100);
  const seed = readCount('--seed', options.seed, 0, 2 ** 32 - 1);
  const { cluster } = loadClusterFile('four-small');
  const progress = createProgress(REAL_SCENES.length);
  const session = await openSession({ cluster, models: options.models, size: 'small', seed, log });
  try {
    const results: SceneResult[] = [];
    for (const scene of REAL_SCENES) {
      log(`Fig. ${scene.figure}: ${scene.title}`);
      progress.step(scene.title);
      results.push(await runScene(session, scene, tokens));
    }
    progress.stop();
    const subtitle = `${session.model.name} on four devices of a lab, with memory for five of eight layers each · willneed in a thread, kernel reclaim`;
    const json = `${JSON.stringify({ settings: { tokens, seed }, probes: session.facts, scenes: results }, undefined, 1)}\n`;
    const report = renderReport(prefetchConflictReport(results, subtitle));
    writeFiles(
      options.out,
      new Map([
        ['report.html', report],
        ['scenes.json', json],
      ]),
    );
    if (options.json) process.stdout.write(json);
    else {
      const text = wrapText(findings(results), 118).join('\n');
      process.stdout.write(`${subtitle}\n\n${tableOf(results)}\n${text}\n\nReport: ${options.out}/report.html\n`);
    }
  } finally {
    progress.stop();
    session.close();
  }
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
  ).replaceAll('\u00a0', ' ');
}

function log(line: string): void {
  process.stderr.write(`lab: ${line}\n`);
}
