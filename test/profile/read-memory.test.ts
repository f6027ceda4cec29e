import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import { hostOf } from './host-of.ts';

const MEMINFO = [
  'MemTotal:        8000 kB',
  'MemFree:          100 kB',
  'MemAvailable:    6000 kB',
  'Inactive(anon):  1500 kB',
  'SwapFree:         700 kB',
].join('\n');
const KB = 1024;

test('on Linux available memory is MemAvailable, without swap', () => {
  const { os, memory, rule } = readMemory(hostOf({ '/proc/meminfo': MEMINFO }));
  assert.is(os, 'linux');
  assert.equal(memory, { total: 8000 * KB, available: 6000 * KB, swappable: 0, swapFree: 0 });
  assert.is(rule, 'MemAvailable of Linux');
});

test('on Android inactive pages and free swap count too', () => {
  const { os, memory } = readMemory(hostOf({ '/proc/meminfo': MEMINFO }, 'android'));
  assert.is(os, 'android');
  assert.equal([memory.swappable, memory.swapFree], [1500 * KB, 700 * KB]);
});

test('with cgroup v2 the tightest limit up to the root counts, less anonymous memory', () => {
  const { memory, rule } = readMemory(
    hostOf({
      '/proc/meminfo': MEMINFO,
      '/proc/self/cgroup': '0::/outer/inner\n',
      '/sys/fs/cgroup/outer/inner/memory.max': 'max\n',
      '/sys/fs/cgroup/outer/inner/memory.current': `${900 * KB}\n`,
      '/sys/fs/cgroup/outer/memory.max': `${4000 * KB}\n`,
      '/sys/fs/cgroup/outer/memory.current': `${3000 * KB}\n`,
      '/sys/fs/cgroup/outer/memory.stat': `anon ${1000 * KB}\nactive_file ${500 * KB}\ninactive_file ${1500 * KB}\n`,
    }),
  );
  assert.equal([memory.total, memory.available], [4000 * KB, 3000 * KB]);
  assert.match(rule, /control group/);
});

test('with cgroup v1 the memory controller’s files are read, and 2⁶³ less a page is no limit', () => {
  const files = {
    '/proc/meminfo': MEMINFO,
    '/proc/self/cgroup': '9:name=systemd:/\n4:cpu,memory:/job\n0::/\n',
    '/sys/fs/cgroup/memory/job/memory.limit_in_bytes': `${5000 * KB}\n`,
    '/sys/fs/cgroup/memory/job/memory.usage_in_bytes': `${2000 * KB}\n`,
    '/sys/fs/cgroup/memory/job/memory.stat': `total_active_file ${200 * KB}\ntotal_inactive_file ${300 * KB}\n`,
  };
  assert.is(readMemory(hostOf(files)).memory.available, 3500 * KB);
  const unlimited = { ...files, '/sys/fs/cgroup/memory/job/memory.limit_in_bytes': '9223372036854771712\n' };
  assert.is(readMemory(hostOf(unlimited)).memory.available, 6000 * KB);
});

test('a container finds its group at the root if the path is the host’s', () => {
  const { memory } = readMemory(
    hostOf({
      '/proc/meminfo': MEMINFO,
      '/proc/self/cgroup': '0::/system.slice/docker-1234.scope\n',
      '/sys/fs/cgroup/memory.max': `${2000 * KB}\n`,
      '/sys/fs/cgroup/memory.current': `${500 * KB}\n`,
    }),
  );
  assert.is(memory.available, 1500 * KB);
});

test('on macOS available pages are free, inactive, speculative or purgeable', () => {
  const vmStat = [
    'Mach Virtual Memory Statistics: (page size of 16384 bytes)',
    'Pages free:                               10.',
    'Pages active:                            500.',
    'Pages inactive:                          200.',
    'Pages speculative:                        30.',
    'Pages purgeable:                           4.',
  ].join('\n');
  const host = { ...hostOf({}, 'darwin'), totalMemory: 2 ** 30, vmStat: () => vmStat };
  const { os, memory } = readMemory(host);
  assert.equal([os, memory.total, memory.available], ['macos', 2 ** 30, 244 * 16384]);
});

test('other systems and missing facts are refused by name', () => {
  assert.throws(() => readMemory(hostOf({}, 'win32')), /win32 is not supported/);
  assert.throws(() => readMemory(hostOf({})), /\/proc\/meminfo/);
  assert.throws(() => readMemory(hostOf({}, 'darwin')), /vm_stat/);
});

test.run();
