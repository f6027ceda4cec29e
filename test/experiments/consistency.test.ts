import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-consistency-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

test('a quick run writes values, scans, cells and what is left out', async () => {
  const { code, stdout } = await runHere(
    'experiments/consistency.ts',
    '--quick',
    '--testbeds',
    'prima-a5',
    '--out',
    directory,
  );
  assert.is(code, 0);
  for (const name of ['report.html', 'consistency.json', 'unknowns.csv', 'scans.csv', 'cells.csv', 'left-out.csv'])
    assert.ok(existsSync(join(directory, name)), name);
  assert.match(stdout, /RAM of the containers/);
  const { studies } = JSON.parse(readFileSync(join(directory, 'consistency.json'), 'utf8'));
  assert.is(studies.length, 1);
  const [{ testbed, cells, held, errors }] = studies;
  assert.is(testbed, 'prima-a5');
  assert.is(cells, 14);
  assert.ok(held.chosen >= held.priors);
  const within = errors.filter((one: { error?: number }) => one.error !== undefined && Math.abs(one.error) <= 0.3);
  assert.is(within.length, held.chosen);
});

test('an unknown testbed is refused with the nearest one', async () => {
  const { code, stderr } = await runHere('experiments/consistency.ts', '--testbeds', 'prima-a6');
  assert.is(code, 2);
  assert.match(stderr, /unknown "prima-a6"; did you mean "prima-a4"/);
});

test.run();
