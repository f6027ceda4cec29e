import { type ExpertsMachine, type ExpertsModel, loadExpertsFindings } from '../datasets/experts.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import { slotsCurves } from './contradictions/curves.ts';
import { SAME_POINTS, SAME_SHARE, SIZE_WITHIN } from './contradictions/judge.ts';
import { COLUMNS, contradictionsPage } from './contradictions/report.ts';
import { createRoutings } from './contradictions/routings.ts';
import { createSimulations } from './contradictions/simulations.ts';
import { type Counts, contradictionRow, countRows } from './contradictions/table.ts';
import { tableCsv, tableJson, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { list } from './report/options.ts';

/** The mixture and the machine of the curves over slots. */
const CURVES = { machine: 'm5-pro-24', model: 'gemma-4-tf' };

await runExperiment({
  name: 'contradictions',
  description:
    'Holds published findings about mixtures whose experts don’t fit against simulations of the same machines: sign, size, and the variable that decides. Machines are described from public data; nothing is fitted to a finding.',
  options: {
    findings: list('--findings <list>', 'numbers of findings, as "2,7,33"; "all"', 'all'),
  },
  json: 'contradictions.json',
  files: ['contradictions.csv'],
  seed: { help: 'of the routings that are drawn' },
  run({ findings: asked, seed }, { progress }) {
    const { machines, models, findings, untried } = loadExpertsFindings();
    const numbers = findings.map(({ id }) => id.split(' ')[0] as string);
    const unknown = asked.find((number) => number !== 'all' && !numbers.includes(number));
    if (unknown !== undefined)
      throw new InputError(
        '--findings',
        `no finding that is tried has the number "${unknown}"${suggestion(unknown, [...new Set(numbers)])}`,
      );
    const chosen = findings.filter((_, index) => asked.includes('all') || asked.includes(numbers[index] as string));
    const bar = progress(chosen.length + 1);
    const routings = createRoutings(seed);
    const simulations = createSimulations(routings);
    const rows = chosen.map((finding) => {
      const row = contradictionRow(finding, { routings, simulations });
      bar.step(finding.id);
      return row;
    });
    const curves = slotsCurves(
      machines.get(CURVES.machine) as ExpertsMachine,
      models.get(CURVES.model) as ExpertsModel,
      simulations,
    );
    bar.step('curves');
    const counts = countRows(rows);
    const table = { columns: COLUMNS, rows };
    return {
      subtitle: `${counts.series} series of ${counts.findings} findings, on ${new Set(rows.flatMap(({ finding }) => finding.machine?.key ?? [])).size} machines; routings drawn by published statistics, seed ${seed}`,
      findings: summary(counts, untried.length),
      data: {
        settings: { findings: asked, seed },
        counts: { ...counts, untried: untried.length },
        rows: tableJson(table),
        curves,
        untried,
      },
      text: [terminalTable(table)],
      page: contradictionsPage(rows, curves, untried),
      files: { 'contradictions.csv': tableCsv(table) },
    };
  },
});

function summary({ series, signs, sizes, findings, findingsRight }: Counts, untried: number): string[] {
  return [
    `${signs} of ${series} signs are right, and ${sizes} sizes within ${100 * SIZE_WITHIN} %; of ${findings} numbered findings ${findingsRight} have the right sign in all their series.`,
    `${untried} findings are not tried, each with its reason on the page.`,
    `Rates that differ by less than ${100 * SAME_SHARE} %, and hit rates by less than ${100 * SAME_POINTS} points, count as the same.`,
  ];
}
