import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readKernel } from '../../engine/profile/kernel-facts.ts';
import { hostOf } from './host-of.ts';

const ENABLED = '/sys/kernel/mm/lru_gen/enabled';
/** Partition 2 of the NVMe disk 259:0, and the disk 8:16. */
const [PARTITION, DISK] = [259 * 256 + 2, 8 * 256 + 16];

test('the bits of lru_gen/enabled say how a kernel reclaims; without the file it has two lists', () => {
  const reclaims = ['0x0007', '0x0003', '0x0001', '0x0005', '0x0000', '0x0006'].map(
    (text) => readKernel(hostOf({ [ENABLED]: `${text}\n` }), DISK).reclaim,
  );
  const without = 'mglru-without-walk';
  assert.equal(reclaims, ['mglru', 'mglru', without, without, 'two-lists', 'two-lists']);
  assert.equal(readKernel(hostOf({}), DISK), { reclaim: 'two-lists' });
  assert.is(readKernel(hostOf({ [ENABLED]: '0x0007\n' }, 'android'), DISK).reclaim, 'mglru');
});

test('read-ahead is that of the disk, of the disk of a partition, or of a file system over several disks', () => {
  const at = (path: string, device: number): number | undefined =>
    readKernel(hostOf({ [path]: '8192\n' }), device).readAhead;
  assert.is(at('/sys/dev/block/8:16/queue/read_ahead_kb', DISK), 8 * 2 ** 20);
  assert.is(at('/sys/dev/block/259:2/../queue/read_ahead_kb', PARTITION), 8 * 2 ** 20);
  assert.is(at('/sys/class/bdi/0:4660/read_ahead_kb', 0x12 * 2 ** 20 + 0x34), 8 * 2 ** 20);
  assert.is(at('/sys/dev/block/8:0/queue/read_ahead_kb', DISK), undefined);
});

test('other systems have neither', () => {
  assert.equal(readKernel(hostOf({ [ENABLED]: '0x0007\n' }, 'darwin'), DISK), {});
});

test.run();
