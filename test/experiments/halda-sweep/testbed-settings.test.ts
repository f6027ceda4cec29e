import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster, loadPublished } from '../../../datasets/load.ts';
import { testbedNamed } from '../../../datasets/testbeds.ts';
import { testbedSettings } from '../../../experiments/halda-sweep/testbed-settings.ts';
import { primaOptions } from '../../../experiments/papers/prima/options.ts';
import { policiesOf } from '../../../experiments/papers/prima/policies.ts';
import { cellsOf } from '../../../experiments/papers/prima/rules.ts';
import { settingsOf } from '../../../experiments/papers/prima/settings.ts';
import { PRIMA_TABLES } from '../../../experiments/papers/prima/tables.ts';

const published = loadPublished();
const catalogue = loadCatalogue();

/** The front page (`npm start`) plans the models of Table 4 on its testbed. */
const table = PRIMA_TABLES.find(({ number }) => number === '4');
if (table === undefined) throw new Error('Table 4 is missing');
const testbed = testbedNamed(table.testbed);
const stated = loadCluster(testbed.belief);
const frontPage = testbedSettings({ testbed, stated, published });
const cells = cellsOf(published, table).filter(({ metric }) => metric === 'tpot');

for (const [system, scheduler] of [
  ['llama.cpp', 'single-device'],
  ['prima.cpp', 'halda-program'],
  ['prima.cpp', 'halda'],
  ['prima.cpp', 'ring-aware'],
] as const) {
  test(`the front page runs ${scheduler} with the settings with which ${system} is reproduced`, () => {
    const own = cells.filter((cell) => cell.system === system);
    assert.is(own.length, 7);
    const { program } = policiesOf(system, '4').find(({ planner }) => planner === scheduler) ?? {};
    assert.ok(program);
    for (const cell of own) {
      const model = createNamedModel(catalogue, cell.model);
      const reproduced = settingsOf({ testbed, stated, published, options: primaOptions({}), program, cell, model });
      assert.is(JSON.stringify(frontPage(model, scheduler)), JSON.stringify(reproduced), cell.row);
    }
  });
}

test.run();
