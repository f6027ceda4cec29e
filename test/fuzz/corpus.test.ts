import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { judge, TARGETS, type TargetModule } from './target.ts';

const CORPUS = join(import.meta.dirname, 'corpus');

for (const name of TARGETS) {
  test(`inputs of ${name} that were faults are read or refused`, async () => {
    const target = await ((await import(`./targets/${name}.ts`)) as TargetModule).open();
    const files = readdirSync(CORPUS).filter((file) => file.startsWith(`${name}-`));
    assert.ok(files.length > 0);
    for (const file of files) {
      const outcome = await judge(target, readFileSync(join(CORPUS, file)));
      assert.ok('kind' in outcome, `${file}: ${'fault' in outcome ? outcome.fault : ''}`);
    }
  });
}

test.run();
