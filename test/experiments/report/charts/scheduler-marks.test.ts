import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SCHEDULER_NAMES } from '../../../../engine/schedule/registry.ts';
import { markOf } from '../../../../experiments/report/charts/scheduler-marks.ts';

test('no two schedulers look alike', () => {
  const looks = [...SCHEDULER_NAMES, 'hand'].map((name) => Object.values(markOf(name)).join(' '));
  assert.equal(new Set(looks).size, looks.length);
});

test.run();
