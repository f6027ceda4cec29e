import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runCommand } from '../support/run-script.ts';

/** As threads of sweeps compile TypeScript: tsx's names for closures are garbage of their own. */
const HOOKS = new URL('../../experiments/sweep/typescript-hooks.mjs', import.meta.url).href;
const REGISTER = `data:text/javascript,import { register } from 'node:module'; register('${HOOKS}');`;

test('a simulation that is over is collected with the young garbage', async () => {
  const script = join(import.meta.dirname, '../support/simulation-garbage.ts');
  const { code, stdout, stderr } = await runCommand([process.execPath, '--import', REGISTER, script]);
  assert.is(code, 0, stderr);
  // Hidden classes are left. Where something keeps a simulation until old garbage is collected, it is 50,000 and more.
  assert.ok(Number(stdout) < 20_000, `${stdout} bytes of each`);
});

test.run();
