import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { ChartBlock, Section } from '../report/page/page.ts';
import { cellChart, countChart, mapChart } from './charts.ts';
import {
  CELL_COLUMNS,
  CONTRADICTED_COLUMNS,
  cellRows,
  OVERVIEW_COLUMNS,
  REASON_COLUMNS,
  UNKNOWN_COLUMNS,
} from './columns.ts';
import { LEFT_OUT_COLUMNS } from './left-out.ts';
import { held } from './problem.ts';
import { inferences, type Study } from './study.ts';

export function consistencyPage(studies: readonly Study[]): NonNullable<Results['page']> {
  const count = (cells: (study: Study) => number): number => studies.reduce((sum, study) => sum + cells(study), 0);
  const all = count(({ after }) => after.length);
  return {
    title: 'What the testbeds must have been for the tables to hold',
    headline: `With unknown values of the testbeds chosen, ${count(({ after }) => held(after))} of ${all} printed cells hold, in place of ${count(({ before }) => held(before))}.`,
    findings: studies
      .slice(0, 3)
      .map(
        ({ problem, before, after }) =>
          `${held(after)} of ${after.length} cells hold, ${held(before)} before the choice: ${problem.name}.`,
      ),
    sections: [valuesSection(studies), ...studies.map(studySection)],
  };
}

function valuesSection(studies: readonly Study[]): Section {
  return {
    title: 'Unknowns, and the values that satisfy most cells',
    blocks: [
      {
        kind: 'text',
        text: 'A value leaves its prior only where it and its neighbours satisfy more of the cells that the unknown may see; then it takes the middle of the values that satisfy as many. "As good" are the values around it that do. Every operating system reclaims in its own way, the same for all systems and tables. Where prima.cpp’s program finds no plan, the optimum of Eq. 1 stands for it. Times to the first token, memory pressure, exo, dllama, speculation and all figures took no part. The chosen values are those of datasets/testbeds.ts, with which the tables are reproduced.',
      },
      tableBlock({ columns: OVERVIEW_COLUMNS, rows: studies, groups: true }, { title: 'Cells that hold' }),
      tableBlock({ columns: UNKNOWN_COLUMNS, rows: studies.flatMap(inferences), groups: true }, { title: 'Values' }),
      tableBlock(
        {
          columns: LEFT_OUT_COLUMNS,
          rows: studies.flatMap(({ leftOut }) => leftOut),
          groups: true,
        },
        { title: 'Cells judged with values that were chosen without their table, or without their configuration' },
      ),
    ],
  };
}

function studySection(study: Study): Section {
  const { problem, planner, scans, map, before, after, contradicted } = study;
  const count = `${held(before)} of ${after.length} cells hold at the priors, ${held(after)} at the chosen values.`;
  const choose = 'Unknown';
  const charts: ChartBlock[] = [
    {
      kind: 'chart',
      title: 'Value against cells that hold, by table',
      note: `${count} The other unknowns are at their chosen values. Lines mark the value that the paper prints, the prior, the chosen one, and the one used to reproduce the tables.`,
      variants: scans.map((one) => ({ label: one.unknown.name, figure: countChart(study, one) })),
      choose,
    },
    {
      kind: 'chart',
      title: 'Which cell holds at which value',
      variants: scans.map((one) => ({ label: one.unknown.name, figure: cellChart(study, one) })),
      choose,
    },
    ...(map === undefined
      ? []
      : [
          {
            kind: 'chart' as const,
            title: `${map.x.name} and ${map.y.name} together`,
            note: 'The number of cells that hold. Marks: printed, prior, chosen, and used to reproduce the tables.',
            variants: [{ label: 'map', figure: mapChart(study, map) }],
          },
        ]),
  ];
  const failing = contradicted.map((one) => ({ ...one, study }));
  return {
    title: `${problem.name}, plans by ${planner}`,
    blocks: [
      ...charts,
      tableBlock(
        { columns: REASON_COLUMNS, rows: inferences(study), groups: true },
        { title: 'Where priors and ranges come from', fold: 'Priors and ranges' },
      ),
      tableBlock({ columns: CONTRADICTED_COLUMNS, rows: failing }, { title: 'Cells that fail at the chosen values' }),
      tableBlock(
        { columns: CELL_COLUMNS.slice(1), rows: cellRows(study), groups: true },
        { title: 'All cells', fold: 'All cells' },
      ),
    ],
  };
}
