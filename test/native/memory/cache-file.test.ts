import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stressTest } from '../stress.ts';

stressTest({
  name: 'caches that several threads write to a file and read back keep their bytes',
  program: 'memory/cache_file_stress.cpp',
  sources: ['memory/cache_file.cpp', 'memory/buffer.cpp', 'threads/job_thread.cpp'],
  options: ['300'],
  check({ status, printed }) {
    assert.is(status, 0, printed);
    assert.match(printed, /^4 threads: 1200 caches written and read$/m);
  },
});

test.run();
