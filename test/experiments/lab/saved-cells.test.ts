import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { equalCell } from '../../../datasets/lab/cell.ts';
import type { CellRun } from '../../../experiments/lab/cell-run.ts';
import { openSavedCells } from '../../../experiments/lab/saved-cells.ts';

const cell = equalCell({ policy: 'populate', rounds: 4, memoryShare: 0.62, diskRate: 1e8 });
const run = { cell, diskRates: [1, 2, 3, 4], trace: { devices: [], spans: [], tokens: [], counters: [] } } as never;
const setting = { model: 'Lab-0.3B', tokens: 7, seed: 1 };

test('a saved cell is found under its own setting only', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-saved-'));
  const saved = openSavedCells(folder, setting);
  assert.is(saved.find(cell), undefined);
  saved.save(run);
  assert.equal(saved.find(cell), run as CellRun);
  assert.is(saved.find({ ...cell, memoryShares: [0.62, 0.62, 0.62, 0.6] }), undefined);
  assert.is(openSavedCells(folder, { ...setting, tokens: 8 }).find(cell), undefined);
});

test('the message about a broken file names it and says what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-saved-'));
  const saved = openSavedCells(folder, setting);
  saved.save(run);
  const [file = ''] = readdirSync(folder);
  writeFileSync(join(folder, file), '{"cell":');
  assert.throws(() => saved.find(cell), new RegExp(`${file}.*not a saved cell.*remove it to measure it again`));
});

test.run();
