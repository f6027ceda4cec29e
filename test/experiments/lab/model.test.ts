import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keptModels } from '../../../experiments/lab/model.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-kept-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('models that labs keep are named with a command that removes them and nothing else', () => {
  assert.is(keptModels(folder), undefined);
  writeFileSync(join(folder, 'Lab-0.3B-F16-1.gguf'), Buffer.alloc(2048));
  writeFileSync(join(folder, 'my-own.gguf'), '');
  writeFileSync(join(folder, 'Lab-0.3B-F16-1.gguf.77.tmp'), '');
  assert.is(
    keptModels(folder),
    `keeps 1 model (2.00 KiB) for other runs; to remove it: rm ${folder}/Lab-0.3B-F16-1.gguf`,
  );
  writeFileSync(join(folder, 'Lab-1B-F16-7.gguf'), Buffer.alloc(2048));
  assert.match(
    keptModels(folder) ?? '',
    /^keeps 2 models \(4.00 KiB\) .* them: rm \S+\/Lab-0\.3B-F16-1\.gguf \S+\/Lab-1B-F16-7\.gguf$/,
  );
});

test('a folder with spaces and quotes is one word of the command', () => {
  const odd = join(folder, "Ann's models");
  mkdirSync(odd);
  writeFileSync(join(odd, 'Lab-1B-F16-1.gguf'), '');
  assert.match(keptModels(odd) ?? '', /rm '[^']*Ann'\\''s models\/Lab-1B-F16-1\.gguf'$/);
});

test.run();
