import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import type { Device } from '../engine/hardware/device.ts';
import { socDevice } from '../engine/hardware/soc.ts';
import { readCount } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { bandwidthBars } from './npu-stages/bandwidth.ts';
import { gpuCurve, graphCurves, orderCurves, stageCurve } from './npu-stages/figures.ts';
import { stagesReport, statedPoints } from './npu-stages/report.ts';

interface Options {
  readonly cluster: string;
  readonly model: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

await runExperiment<Options>({
  name: 'npu-stages',
  description:
    'How fast a chip’s GPU and NPU are by size, order and shape of tensors, alone and together (HeteroLLM Figs. 2, 4, 5, 6, 9).',
  configure: (command) =>
    command
      .option(
        '--cluster <key>',
        'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
        'hetero-8gen3',
      )
      .option('--model <name>', 'what decodes in Fig. 6, in W4A16', 'Llama-3-8B')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print points and curves as JSON')
      .option('--out <dir>', 'where report.html, curves.csv and curves.json go', 'results/npu-stages'),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const loaded = loadClusterFile(options.cluster);
  const device = socDevice(loaded.cluster.devices[0] as Device);
  const bars = bandwidthBars(loaded.cluster, namedW4a16Model(loadCatalogue(), options.model));
  const points = statedPoints(device, bars);
  const figures = {
    'Fig. 2': [gpuCurve(device)],
    'Fig. 4': [stageCurve(device)],
    'Fig. 5': orderCurves(device),
    'Fig. 9': graphCurves(device),
  };
  const { cluster, model } = options;
  const settings = { cluster, model, seed };
  const json = `${JSON.stringify({ experiment: 'npu-stages', settings, points, figures, 'Fig. 6': bars, provenance: loaded.statements }, null, 2)}\n`;
  const rows = Object.entries(figures).flatMap(([figure, curves]) =>
    curves.flatMap(({ name, x, y }) => x.map((size, index) => [figure, name, size, y[index]])),
  );
  const files = new Map([
    ['report.html', renderReport(stagesReport(loaded, bars, points))],
    ['curves.csv', toCsv(['figure', 'curve', 'x', 'y'], rows)],
    ['curves.json', json],
  ]);
  writeFiles(options.out, files);
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  const columns = [{ title: 'figure' }, { title: 'what' }, { title: 'published' }, { title: 'model', wraps: true }];
  process.stdout.write(
    formatTable(
      columns,
      points.map((point) => [point.figure, point.what, point.published, point.model]),
      140,
    ),
  );
  process.stdout.write(`Report: ${options.out}/report.html (beside it curves.csv, curves.json)\n`);
}
