import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Controllers } from '../../../../experiments/lab/cgroups/controllers.ts';
import { createDeviceGroup } from '../../../../experiments/lab/cgroups/device-group.ts';
import { treeOf } from '../tree.ts';

const V1: Controllers = {
  memory: { version: 1, root: '/m' },
  disk: { version: 1, root: '/b' },
  cpu: { version: 1, root: '/c' },
};
const V2: Controllers = {
  memory: { version: 2, root: '/u' },
  disk: { version: 2, root: '/u' },
  cpu: { version: 2, root: '/u' },
};
const LIMITS = { memory: 2 ** 28, diskRate: 4e8, cores: 0.5 };

test('version 1: three groups, each with its limit', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V1, name: 'g', disk: '254:0' });
  group.limit(LIMITS);
  assert.equal(group.joins, ['/m/g/cgroup.procs', '/b/g/cgroup.procs', '/c/g/cgroup.procs']);
  assert.equal(Object.fromEntries(files.content), {
    '/m/g/memory.limit_in_bytes': '268435456',
    '/b/g/blkio.throttle.read_bps_device': '254:0 400000000',
    '/c/g/cpu.shares': '262144',
    '/c/g/cpu.cfs_period_us': '100000',
    '/c/g/cpu.cfs_quota_us': '50000',
  });
});

test('version 2: one group with all limits, and no swap', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V2, name: 'g', disk: '8:0' });
  group.limit(LIMITS);
  assert.equal(group.joins, ['/u/g/cgroup.procs']);
  assert.equal(Object.fromEntries(files.content), {
    '/u/g/memory.max': '268435456',
    '/u/g/memory.swap.max': '0',
    '/u/g/io.max': '8:0 rbps=400000000',
    '/u/g/cpu.weight': '10000',
    '/u/g/cpu.max': '50000 100000',
  });
});

test('version 1: readings come from the files of each resource', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V1, name: 'g', disk: '254:0' });
  files.write('/m/g/memory.max_usage_in_bytes', '1000\n');
  files.write('/m/g/memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n');
  files.write('/b/g/blkio.throttle.io_service_bytes', '254:0 Read 7000\n254:0 Write 9\n8:0 Read 5\nTotal 7014\n');
  assert.equal(group.readings(), { peakBytes: 1000, readBytes: 7000, kills: 2 });
});

test('version 2: readings come from one folder; a disk that was not read is not listed', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V2, name: 'g', disk: '254:0' });
  files.write('/u/g/memory.peak', '1000\n');
  files.write('/u/g/memory.events', 'low 0\noom 1\noom_kill 1\n');
  files.write('/u/g/io.stat', '8:0 rbytes=5 wbytes=0\n');
  assert.equal(group.readings(), { peakBytes: 1000, readBytes: 0, kills: 1 });
  files.write('/u/g/io.stat', '8:0 rbytes=5 wbytes=0\n254:0 rbytes=7000 wbytes=9\n');
  assert.is(group.readings().readBytes, 7000);
});

test('version 1: own memory is the operating system’s and that of all processes; an ended process has none', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V1, name: 'g', disk: '254:0' });
  files.write('/m/g/memory.kmem.usage_in_bytes', '4096\n');
  files.write('/m/g/cgroup.procs', '7\n8\n9\n');
  files.write('/proc/7/status', 'Name:\tnode\nRssAnon:\t      10 kB\nRssFile:\t 99 kB\n');
  files.write('/proc/8/status', 'Name:\tnode\nRssAnon:\t       2 kB\n');
  assert.is(group.ownBytes(), 4096 + 12 * 1024);
});

test('version 2: own memory is anonymous memory and the kernel’s', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V2, name: 'g', disk: '254:0' });
  files.write('/u/g/memory.stat', 'anon 600\nfile 300\nkernel 40\n');
  assert.is(group.ownBytes(), 640);
});

test('if a group can’t be made, no group is left', () => {
  const files = treeOf({ '/c/g/cgroup.procs': '' });
  assert.throws(() => createDeviceGroup({ files, controllers: V1, name: 'g', disk: '254:0' }), /EEXIST/);
  assert.not(files.exists('/m/g'));
  assert.not(files.exists('/b/g'));
});

test('the processes of all groups are listed once each', () => {
  const files = treeOf({});
  const group = createDeviceGroup({ files, controllers: V1, name: 'g', disk: '254:0' });
  files.write('/m/g/cgroup.procs', '11\n12\n');
  files.write('/b/g/cgroup.procs', '11\n');
  assert.equal(group.processes(), [11, 12]);
});

test.run();
