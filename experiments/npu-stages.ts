import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { chipDevice } from '../engine/hardware/chip.ts';
import type { Device } from '../engine/hardware/device.ts';
import { bandwidthBars } from './npu-stages/bandwidth.ts';
import { gpuCurve, graphCurves, orderCurves, stageCurve } from './npu-stages/figures.ts';
import { CURVES, curveRows, STATED, SUMMARY, stagesPage, statedPoints } from './npu-stages/report.ts';
import { BAND, sensitivityBand } from './npu-stages/sensitivity.ts';
import { tableCsv, tableJson, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { text } from './report/options.ts';

await runExperiment({
  name: 'npu-stages',
  description:
    'How fast a chip’s GPU and NPU are by size, order and shape of tensors, alone and together (HeteroLLM Figs. 2, 4, 5, 6, 9).',
  options: {
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
      'hetero-8gen3',
    ),
    model: text(
      '--model <name>',
      'what decodes in Fig. 6, and whose prompt of 256 tokens the band keeps as fast as it is, in W4A16',
      'Llama-3-8B',
    ),
  },
  json: 'curves.json',
  files: ['curves.csv', 'band.csv'],
  run({ cluster, model, seed }) {
    const loaded = loadClusterFile(cluster);
    const device = chipDevice(loaded.cluster.devices[0] as Device);
    const catalogue = loadCatalogue();
    const first = namedW4a16Model(catalogue, model);
    const bars = bandwidthBars(loaded.cluster, first);
    const band = sensitivityBand({
      cluster: loaded.cluster,
      model: first,
      second: namedW4a16Model(catalogue, 'InternLM2-1.8B', 'datasets/models.csv'),
    });
    const points = statedPoints(device, bars);
    const figures = {
      'Fig. 2': [gpuCurve(device)],
      'Fig. 4': [stageCurve(device)],
      'Fig. 5': orderCurves(device),
      'Fig. 9': graphCurves(device),
    };
    const settings = { cluster, model, seed };
    const provenance = loaded.statements;
    return {
      subtitle: `${loaded.cluster.name} · models of HeteroLLM §3 next to the points that its text states; the figures themselves print no numbers`,
      findings: [SUMMARY],
      data: {
        experiment: 'npu-stages',
        settings,
        points,
        figures,
        'Fig. 6': bars,
        band: tableJson({ columns: BAND, rows: band }),
        provenance,
      },
      text: [terminalTable({ columns: STATED, rows: points }, 140), terminalTable({ columns: BAND, rows: band }, 170)],
      page: stagesPage(device, bars, points, band),
      files: {
        'curves.csv': tableCsv({ columns: CURVES, rows: curveRows(figures) }),
        'band.csv': tableCsv({ columns: BAND, rows: band }),
      },
      clusters: [loaded],
    };
  },
});
