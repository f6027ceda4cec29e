import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { bestGain, evenRounds, type RoundsRow } from '../../experiments/rounds/rounds.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-rounds-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

test('rounds divide 80 and 60 layers evenly among four devices', () => {
  const catalogue = loadCatalogue();
  assert.equal(evenRounds(createNamedModel(catalogue, 'Llama-3-70B'), 4, 10), [1, 2, 4, 5, 10]);
  assert.equal(evenRounds(createNamedModel(catalogue, 'Llama-3-14B'), 4, 100), [1, 3, 5, 15]);
});

test('the best gain is the one computed by hand', () => {
  const row = (rounds: number, seconds: number | undefined): RoundsRow => ({
    model: 'm',
    mix: 'F16',
    bytes: 1,
    policy: 'p',
    reclaim: 'os',
    rounds,
    seconds,
    readBytes: 0,
    reason: '',
  });
  assert.equal(bestGain([row(1, 10), row(2, 5), row(4, 4), row(8, undefined)], 'm', 'p', 'os'), {
    rounds: 4,
    ratio: 0.4,
  });
  assert.is(bestGain([row(2, 5)], 'm', 'p', 'os'), undefined);
});

test('a 70B that exceeds the memory gains from rounds only if it prefetches', async () => {
  const { code, stdout } = await runHere(
    'experiments/rounds.ts',
    '--models',
    'Llama-3-70B',
    '--most-rounds',
    '2',
    '--out',
    directory,
    '--json',
  );
  assert.is(code, 0);
  const rows = (JSON.parse(stdout) as { rows: RoundsRow[] }).rows;
  assert.is(bestGain(rows, 'Llama-3-70B', 'no prefetch', 'os')?.ratio.toFixed(2), '1.00');
  assert.ok((bestGain(rows, 'Llama-3-70B', 'willneed', 'os')?.ratio ?? 1) < 0.5);
  assert.match(
    readFileSync(join(directory, 'report.html'), 'utf8'),
    '<title>What rounds do for a ring that does not fit</title>',
  );
  assert.match(
    readFileSync(join(directory, 'rounds.csv'), 'utf8'),
    'model,format,weights_bytes,policy,reclaim,rounds,tpot_s',
  );
});

testReport(() => join(directory, 'report.html'), 1);

for (const [options, expected] of [
  [['--reclaim', 'lunix'], /^--reclaim: unknown "lunix"/],
  [
    ['--cluster', 'home-example', '--models', 'Llama-3-8B'],
    /^--cluster: the layers of no model divide evenly among its 3 devices; give another cluster or model\n$/,
  ],
  [['--tokens', '1'], /^--tokens: "1" is not a whole number between 2 and 10000\n$/],
  [['--models', 'Llama-3-71B'], /^--models: no model is called "Llama-3-71B"; did you mean "Llama-3-70B"\?\n$/],
] as const) {
  test(`${options.join(' ')} is reported in one line with exit code 2`, async () => {
    const { code, stderr, stdout } = await runHere(
      'experiments/rounds.ts',
      ...options,
      '--out',
      join(directory, 'none'),
    );
    assert.is(code, 2);
    assert.match(stderr, expected);
    assert.is(stdout, '');
  });
}

test.run();
