import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { shareLog } from '../../commands/measured-share.ts';

test('a measurement in another process is logged at each quarter, with the seconds left', () => {
  const lines: string[] = [];
  let now = 100;
  const logged = shareLog(
    (line) => lines.push(line),
    () => now,
  );
  for (let done = 0; done <= 10; done++) {
    now = 100 + done;
    assert.ok(logged(JSON.stringify({ label: 'disk', done: done / 10 })));
  }
  assert.equal(lines, [
    'measuring this device: 30 %, about 7 s left',
    'measuring this device: 50 %, about 5 s left',
    'measuring this device: 80 %, about 2 s left',
  ]);
});

test('other lines, such as errors, are left to the caller', () => {
  const lines: string[] = [];
  const logged = shareLog((line) => lines.push(line));
  for (const line of ['hearth profile failed', '{', '{}', 'null', '7', '{"done":"0.5"}'])
    assert.not.ok(logged(line), line);
  assert.equal(lines, []);
});

test.run();
