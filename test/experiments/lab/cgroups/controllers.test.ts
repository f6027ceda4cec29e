import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findControllers } from '../../../../experiments/lab/cgroups/controllers.ts';
import { treeOf } from '../tree.ts';

const ROOT = '/sys/fs/cgroup';
const V1 = {
  [`${ROOT}/memory/memory.limit_in_bytes`]: '',
  [`${ROOT}/blkio/blkio.throttle.read_bps_device`]: '',
  [`${ROOT}/cpu/cpu.shares`]: '',
};

test('version 1 has a hierarchy for each resource', () => {
  const { found, missing } = findControllers(treeOf(V1));
  assert.equal(found, {
    memory: { version: 1, root: `${ROOT}/memory` },
    disk: { version: 1, root: `${ROOT}/blkio` },
    cpu: { version: 1, root: `${ROOT}/cpu` },
  });
  assert.equal(missing, []);
});

test('version 2 has one hierarchy for all resources and lists the controllers that groups may use', () => {
  const { found, missing } = findControllers(treeOf({ [`${ROOT}/cgroup.subtree_control`]: 'cpu io memory pids\n' }));
  const unified = { version: 2, root: ROOT };
  assert.equal(found, { memory: unified, disk: unified, cpu: unified });
  assert.equal(missing, []);
});

test('on systems with both versions, controllers missing in version 1 are taken from version 2', () => {
  const { [`${ROOT}/cpu/cpu.shares`]: _, ...rest } = V1;
  const { found } = findControllers(treeOf({ ...rest, [`${ROOT}/unified/cgroup.subtree_control`]: 'cpu\n' }));
  assert.equal(found.cpu, { version: 2, root: `${ROOT}/unified` });
  assert.is(found.memory?.version, 1);
});

test('a missing controller is named, with the places that were searched', () => {
  const { found, missing } = findControllers(treeOf({ [`${ROOT}/cgroup.subtree_control`]: 'cpu pids\n' }));
  assert.equal(Object.keys(found), ['cpu']);
  assert.is(missing.length, 2);
  assert.match(missing[0] as string, 'no control groups for memory');
  assert.match(missing[1] as string, '"io" in /sys/fs/cgroup/cgroup.subtree_control');
});

test.run();
