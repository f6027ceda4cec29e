import { loadClusterFile } from '../datasets/load.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { CELL_COLUMNS, cellRows, SCAN_COLUMNS, scanRows, studyData, UNKNOWN_COLUMNS } from './consistency/columns.ts';
import { LEFT_OUT_COLUMNS } from './consistency/left-out.ts';
import { PLANNERS, PROTOCOL, primaProblem } from './consistency/prima-problem.ts';
import { consistencyPage } from './consistency/report.ts';
import { inferences, STUDY_STEPS, study, summaryOf } from './consistency/study.ts';
import { UNKNOWN_TESTBEDS } from './consistency/testbeds.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choices, flag, number } from './report/options.ts';

/** Time limit of one integer program, seconds. */
const SOLVER_SECONDS = 20;

const TESTBEDS = UNKNOWN_TESTBEDS.map(({ cluster }) => cluster);

await runExperiment({
  name: 'consistency',
  description:
    'What prima.cpp’s paper leaves unknown of its testbeds, as an inverse problem: which published times per token hold over a range of each unknown, under one model of every operating system; the values that satisfy most cells; and what nothing satisfies.',
  options: {
    testbeds: choices('--testbeds <list>', `of ${TESTBEDS.join(', ')}`, TESTBEDS),
    planners: choices('--planners <list>', `how prima.cpp plans: ${PLANNERS.join(', ')}`, PLANNERS, [PROTOCOL.planner]),
    tolerance: number('--tolerance <share>', 'largest |error| with which a cell holds', {
      default: PROTOCOL.tolerance,
      least: 0.01,
      most: 1,
    }),
    quick: flag('--quick', 'every fifth value of each unknown, and no map'),
  },
  json: 'consistency.json',
  files: ['unknowns.csv', 'scans.csv', 'cells.csv', 'left-out.csv'],
  async run({ testbeds, planners, tolerance, quick, seed }, { progress }) {
    const chosen = UNKNOWN_TESTBEDS.filter(({ cluster }) => testbeds.includes(cluster));
    const { step } = progress(chosen.length * planners.length * STUDY_STEPS);
    const solver = await loadIntegerSolver(SOLVER_SECONDS);
    try {
      const studies = chosen.flatMap((testbed) =>
        planners.map((planner) => {
          const problem = primaProblem(testbed, planner, solver, tolerance);
          const unknowns = quick ? problem.unknowns.map(fewer) : problem.unknowns;
          return study({ ...problem, unknowns }, { planner, map: quick ? undefined : testbed.map, step });
        }),
      );
      const unknowns = { columns: UNKNOWN_COLUMNS, rows: studies.flatMap(inferences), groups: true };
      const leftOut = {
        columns: LEFT_OUT_COLUMNS,
        rows: studies.flatMap(({ leftOut }) => leftOut),
        groups: true,
      };
      return {
        subtitle: `${testbeds.join(', ')} · plans by ${planners.join(', ')} · a cell holds within ±${100 * tolerance} %`,
        findings: studies.map(summaryOf),
        data: { settings: { testbeds, planners, tolerance, quick, seed }, studies: studies.map(studyData) },
        text: [terminalTable(unknowns), terminalTable(leftOut)],
        page: consistencyPage(studies),
        files: {
          'unknowns.csv': tableCsv(unknowns),
          'scans.csv': tableCsv({ columns: SCAN_COLUMNS, rows: studies.flatMap(scanRows) }),
          'cells.csv': tableCsv({ columns: CELL_COLUMNS, rows: studies.flatMap(cellRows) }),
          'left-out.csv': tableCsv(leftOut),
        },
        clusters: chosen.map(({ cluster }) => loadClusterFile(cluster)),
      };
    } finally {
      solver.dispose();
    }
  },
});

/** The unknown with every fifth value, its prior among them. */
function fewer<One extends { readonly values: readonly number[]; readonly prior: number }>(unknown: One): One {
  return { ...unknown, values: unknown.values.filter((value, index) => index % 5 === 0 || value === unknown.prior) };
}
