import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stressTest } from '../stress.ts';

stressTest({
  name: 'a run of the thread pool ends when all its threads have left it',
  program: 'threads/thread_pool_stress.cpp',
  sources: ['threads/thread_pool.cpp'],
  options: ['20000'],
  check({ status, printed }) {
    assert.is(status, 0, printed);
    assert.match(printed, /^8 threads: 20000 runs$/m);
  },
});

test.run();
