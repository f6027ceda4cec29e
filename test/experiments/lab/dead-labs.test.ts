import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { processStart } from '../../../engine/files/process-mark.ts';
import { findDeadLabs } from '../../../experiments/lab/dead-labs.ts';
import { formatLabName, parseLabName } from '../../../experiments/lab/name.ts';
import { treeOf } from './tree.ts';

const CONTROLLERS = { memory: { version: 1, root: '/m' }, cpu: { version: 1, root: '/c' } } as const;

/** /proc/PID/stat of a process whose name has what separates fields. */
const stat = (start: number): string => `7 (a b) c) S 1 7 7 0 -1 4194560 ${'0 '.repeat(12)}${start} 0 0`;

test('names are read back', () => {
  const name = { pid: 7, start: '900', part: 'device-1' };
  assert.is(formatLabName(name), 'hearth-lab-7-900-device-1');
  assert.equal(parseLabName('hearth-lab-7-900-device-1'), name);
  for (const foreign of ['hearth-test-7-900', 'hearth-lab-7-one', 'xhearth-lab-7-900-one', 'hearth-lab-7-900-a/b'])
    assert.is(parseLabName(foreign), undefined);
});

test('the start time of a process is field 22, whatever its name', () => {
  assert.is(processStart(stat(900)), '900');
  assert.throws(() => processStart('7 (a) S'), RangeError);
});

test('remains are found of labs whose process is gone, or whose process id was reused', () => {
  const files = treeOf({
    '/proc/7/stat': stat(900),
    '/m/hearth-lab-7-900-one/cgroup.procs': '',
    '/m/hearth-lab-7-800-one/cgroup.procs': '',
    '/c/hearth-lab-7-800-one/cgroup.procs': '',
    '/m/hearth-lab-8-800-two/cgroup.procs': '',
    '/m/somebody-elses/cgroup.procs': '',
  });
  const dead = findDeadLabs(files, CONTROLLERS, ['hearth-lab-8-800-two', 'hearth-lab-9-1-switch', 'docker0']);
  assert.equal(dead, [
    {
      name: 'hearth-lab-7-800-one',
      folders: ['/m/hearth-lab-7-800-one', '/c/hearth-lab-7-800-one'],
      hasNamespace: false,
    },
    { name: 'hearth-lab-8-800-two', folders: ['/m/hearth-lab-8-800-two'], hasNamespace: true },
    { name: 'hearth-lab-9-1-switch', folders: [], hasNamespace: true },
  ]);
});

test('a lab with processes of another container is left alone', () => {
  const files = treeOf({ '/m/hearth-lab-7-800-one/cgroup.procs': '0\n' });
  assert.equal(findDeadLabs(files, CONTROLLERS, []), []);
});

test.run();
