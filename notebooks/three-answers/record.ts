import { cellName } from '../../datasets/lab/cell.ts';
import { parseRecorded } from '../../datasets/lab/recorded.ts';
import csv from '../../datasets/measured/three-answers-quick.csv?raw';
import json from '../../datasets/measured/three-answers-quick.json?raw';
import { CELLS } from './answers.ts';

/** The runs as a lab measured them once, each with its name. */
export const RUNS = parseRecorded({ csv, json }, 'datasets/measured/three-answers-quick').map((run) => ({
  ...run,
  name: nameOf(run.plan),
}));

function nameOf(plan: number): string {
  const cell = CELLS[plan];
  return cell === undefined ? '' : cellName(cell);
}
