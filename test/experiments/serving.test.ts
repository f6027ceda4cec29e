import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { madeFile } from '../runtime/made-file.ts';
import { checkFirstScreen } from '../support/first-screen.ts';
import { testIf } from '../support/needs.ts';
import { runHere } from '../support/run-script.ts';

const SCRIPT = 'experiments/serving.ts';
const folder = mkdtempSync(join(tmpdir(), 'hearth-serving-'));
test.after(() => rmSync(folder, { recursive: true }));

interface Load {
  readonly name: string;
  readonly requests: number;
  readonly predicted: { readonly tokensPerSecond: number };
  readonly paced: { readonly passFactor: number; readonly figures: { readonly requests: number } };
  readonly measured: { readonly requests: number; readonly tokensPerSecond: number };
  readonly simulated: { readonly figures: { readonly requests: number; readonly tokensPerSecond: number } };
}

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'requests of a file have three answers',
  async () => {
    const model = await madeFile({ folder, name: 'two', shape: { vocabularySize: 1024 } });
    const requests = join(folder, 'requests.csv');
    const rows = Array.from({ length: 40 }, (_, index) => `${index / 100},${20 + index},${1 + (index % 9)}`);
    writeFileSync(requests, ['arrival,prompt,output', ...rows].join('\n'));
    const out = join(folder, 'out');
    const options = ['--model', model, '--requests', requests, '--threads', '1', '--json'];
    const { code, stdout, stderr } = await runHere(SCRIPT, ...options, '--out', out);
    assert.is(code, 0, stderr);
    const { loads, passes } = JSON.parse(stdout) as {
      loads: Load[];
      passes: { measured: number; predicted: number }[];
    };
    for (const { name, predicted, measured, simulated, paced } of loads) {
      assert.ok(paced.passFactor > 0.1 && paced.passFactor < 10, `${paced.passFactor}`);
      assert.is(paced.figures.requests, 40, name);
      // Every request is served, with all its tokens, in the simulation as by the engine.
      assert.is(measured.requests, 40, name);
      assert.is(simulated.figures.requests, 40, name);
      for (const tokens of [predicted, measured, simulated.figures]) assert.ok(tokens.tokensPerSecond > 0, name);
    }
    assert.equal(
      loads.map(({ name }) => name),
      ['the file’s requests'],
    );
    assert.ok(passes.length > 5);
    assert.match(
      readFileSync(join(out, 'loads.csv'), 'utf8'),
      /^load,figure,simulated_s,measured_s,error,paced_error\n/,
    );
    checkFirstScreen(join(out, 'report.html'));
  },
);

for (const [options, line] of [
  [['--requests', 'nowhere.csv'], /^nowhere\.csv: there is no such file; give a CSV file of requests\n$/],
  [['--on', 'ring-streamed', '--model', 'm.gguf'], /^--model: is for this machine; a lab ring has its own\n$/],
  [['--clients', '0'], /^--clients: "0" is not a whole number between 1 and 1000\n$/],
] as const)
  test(`${options.join(' ')} ends in one line and exit code 2`, async () => {
    const { code, stderr, stdout } = await runHere(SCRIPT, ...options, '--out', join(folder, 'none'));
    assert.is(code, 2);
    assert.match(stderr, line);
    assert.is(stdout, '');
  });

test.run();
