import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Allocation, CachingAllocator } from '../../../simulator/hardware/caching-allocator.ts';

const MIB = 2 ** 20;

test('small requests share a segment of 2 MiB, requests below 10 MiB one of 20 MiB', () => {
  const allocator = new CachingAllocator(100 * MIB);
  allocator.allocate(MIB);
  allocator.allocate(MIB);
  assert.is(allocator.reservedBytes, 2 * MIB);
  for (let count = 0; count < 3; count++) allocator.allocate(6 * MIB);
  assert.is(allocator.reservedBytes, 22 * MIB);
  allocator.allocate(6 * MIB);
  assert.is(allocator.reservedBytes, 42 * MIB);
});

test('freed neighbours join, so that a longer tensor finds room where two shorter ones were', () => {
  const allocator = new CachingAllocator(20 * MIB);
  const [one, other] = [allocator.allocate(6 * MIB), allocator.allocate(6 * MIB)];
  assert.ok(one && other && allocator.allocate(6 * MIB));
  assert.is(allocator.allocate(9 * MIB), undefined);
  allocator.release(one);
  assert.is(allocator.allocate(9 * MIB), undefined);
  allocator.release(other);
  assert.ok(allocator.allocate(9 * MIB));
  assert.is(allocator.reservedBytes, 20 * MIB);
});

test('cached segments go back to CUDA only where it has no room, and only whole ones', () => {
  const allocator = new CachingAllocator(40 * MIB);
  const large = allocator.allocate(20 * MIB) as Allocation;
  allocator.release(large);
  assert.is(allocator.reservedBytes, 20 * MIB);
  assert.ok(allocator.allocate(30 * MIB));
  assert.is(allocator.reservedBytes, 30 * MIB);
  assert.is(allocator.allocate(12 * MIB), undefined);
});

test('property: what is reserved holds what is allocated, and all of it can be returned', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 * MIB }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(sizes, (requests) => {
      const capacity = 2000 * MIB;
      const allocator = new CachingAllocator(capacity);
      const allocations = requests.map((bytes) => allocator.allocate(bytes) as Allocation);
      assert.ok(allocator.reservedBytes >= requests.reduce((sum, bytes) => sum + bytes, 0));
      for (const allocation of allocations) allocator.release(allocation);
      assert.ok(allocator.allocate(capacity));
      assert.is(allocator.reservedBytes, capacity);
    }),
  );
});

test.run();
