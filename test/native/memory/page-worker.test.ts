import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stressTest } from '../stress.ts';

stressTest({
  name: 'page jobs of every kind, submitted, polled, awaited and cancelled by several threads, keep their bytes',
  program: 'memory/page_worker_stress.cpp',
  sources: [
    ...['memory/page_worker.cpp', 'memory/range_reader.cpp', 'memory/pages.cpp', 'memory/file_mapping.cpp'],
    ...['memory/read_counter.cpp', 'memory/file_faults.cpp', 'memory/buffer.cpp', 'threads/job_thread.cpp'],
  ],
  options: ['300'],
  check({ status, printed }) {
    assert.is(status, 0, printed);
    assert.match(printed, /^4 threads: 1200 jobs, 4 workers$/m);
  },
});

test.run();
