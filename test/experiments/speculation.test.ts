import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { checkFirstScreen } from '../support/first-screen.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testIf } from '../support/needs.ts';
import { runHere } from '../support/run-script.ts';

const MODEL = goldenModel('llama-Q8_0');
const out = mkdtempSync(join(tmpdir(), 'hearth-speculation-'));
test.after(() => rmSync(out, { recursive: true }));
const run = (...options: readonly string[]) =>
  runHere(
    'experiments/speculation.ts',
    ...['--model', MODEL, '--tokens', '24', '--repeats', '2', '--threads', '2', '--out', out, '--json', ...options],
  );

interface Row {
  readonly place: string;
  readonly source: string;
  readonly length: number | 'adaptive';
  readonly acceptanceRate: number;
  readonly sureRate: number;
  readonly passTokens: number;
  readonly gain: { readonly median: number; readonly repeats: number };
  readonly predictedGain?: number;
  readonly simulatedGain?: number;
  readonly isSame: boolean;
}

const native = (name: string, body: () => Promise<void>): void =>
  testIf(NATIVE_SETS.length > 0, 'native kernels are not built', name, body);

native('stand-ins at known acceptance rates have three answers in RAM and with streamed weights', async () => {
  const { code, stdout, stderr } = await run('--acceptance', '0,1', '--lengths', '0,3,adaptive');
  assert.is(code, 0, stderr);
  const { rows, passes } = JSON.parse(stdout) as { rows: Row[]; passes: Record<string, { one: number; many: number }> };
  assert.equal(
    rows.map(({ place, source, length }) => `${place}, ${source}, ${length}`),
    ['RAM', 'streamed'].flatMap((place) =>
      [0, 1].flatMap((alpha) => [0, 3, 'adaptive'].map((length) => `${place}, stand-in, α = ${alpha}, ${length}`)),
    ),
  );
  for (const row of rows) {
    assert.ok(row.isSame, `${row.place}, ${row.source}, ${row.length}`);
    assert.ok(row.gain.median > 0 && row.gain.repeats === 2);
    // The same machine in both answers: they differ by what reading and computing overlap.
    const { predictedGain = 0, simulatedGain = 0, place, length, acceptanceRate } = row;
    if (place === 'RAM')
      assert.ok(Math.abs(simulatedGain / predictedGain - 1) < 0.02, `${simulatedGain} ${predictedGain}`);
    if (length !== 3) continue;
    // All of three drafted tokens, or none: 4 tokens a pass, 3 and a rest at the end, or 1.
    assert.ok(acceptanceRate === 1 ? row.passTokens > 3.8 : row.passTokens === 1, `${row.passTokens}`);
  }
  assert.ok((passes.streamed?.one ?? 0) > 0 && (passes.RAM?.many ?? 0) > 0);
  checkFirstScreen(join(out, 'report.html'));
  assert.ok(existsSync(join(out, 'speculation.csv')));
});

native('a draft model and lookups are measured at the acceptance rate that they have', async () => {
  const { code, stdout, stderr } = await run('--draft', MODEL, '--lookup', '--lengths', '1,4', '--weights', 'RAM');
  assert.is(code, 0, stderr);
  const { rows } = JSON.parse(stdout) as { rows: Row[] };
  const [draft, longer, lookup] = rows;
  assert.is(draft?.acceptanceRate, 1, 'a model drafts its own text');
  // A random model isn't sure of all of it.
  const { sureRate = 0, passTokens = 0 } = draft ?? {};
  assert.ok(sureRate > 0.5 && sureRate < 1, `${sureRate}`);
  assert.ok((longer?.passTokens ?? 0) > passTokens && passTokens > 1 && passTokens < 2, `${passTokens}`);
  assert.is(lookup?.source, 'lookup');
  assert.is(lookup?.predictedGain, undefined);
  assert.ok(rows.every(({ isSame }) => isSame));
});

test.run();
