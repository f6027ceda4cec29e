import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const run = promisify(execFile);

test('all that the library exports is documented, with the types that it takes and returns', async () => {
  // As `npm run docs:api`, without writing pages.
  const typedoc = ['node_modules/typedoc/bin/typedoc', '--options', 'library/typedoc.json', '--emit', 'none'];
  const { stdout, stderr } = await run(process.execPath, typedoc).catch((error) => error);
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => /warning|error/i.test(line));
  assert.equal(complaints, []);
});

test.run();
