import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../../support/needs.ts';
import { runScript } from '../../support/run-script.ts';
import { NATIVE_SETS } from '../native-sets.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-errors-'));
test.after(() => rmSync(folder, { recursive: true }));

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'what libraries write to stderr goes to a file, what this process writes stays',
  async () => {
    const log = join(folder, 'log');
    const script = join(folder, 'script.mjs');
    const module = join(process.cwd(), 'engine/kernels/native/diverted-errors.ts');
    writeFileSync(
      script,
      `import { writeSync } from 'node:fs';
import { withDivertedErrors } from '${module}';
const library = (text) => writeSync(2, text);
const diverted = (text) => withDivertedErrors('${log}', async () => {
  library(text);
  process.stderr.write('own ' + text);
  await new Promise((resolve) => setTimeout(resolve, 10));
});
await Promise.all([diverted('a\\n'), diverted('b\\n')]);
await withDivertedErrors('${folder}', async () => library('to no file\\n'));
library('after\\n');
process.stderr.write('own after\\n');`,
    );
    const { code, stderr } = await runScript(script);
    assert.is(readFileSync(log, 'utf8'), 'a\nb\n');
    assert.is(stderr, 'own a\nown b\nto no file\nafter\nown after\n');
    assert.is(code, 0);
  },
);

test.run();
