import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster, loadPublished } from '../../datasets/load.ts';
import {
  believedCluster,
  TESTBEDS,
  testbedNamed,
  trueCluster,
  type UnknownQuantity,
  vramByHand,
  withHead,
} from '../../datasets/testbeds.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { PRIMA_TABLES } from '../../experiments/papers/prima/tables.ts';

const GIB = 2 ** 30;
const ram = (cluster: Cluster) =>
  cluster.devices.map(({ name, memory }) => `${name} ${(memory.available / GIB).toFixed(3)}`);
const home = loadCluster('prima-home');

test('what prima.cpp’s program reports on Linux and Android is four fifths of what there is', () => {
  const truth = trueCluster({ stated: 'reported', unknowns: [] }, home);
  assert.equal(ram(truth), ['D3 12.125', 'D4 2.375', 'D1 2.400', 'D2 5.125']);
  assert.equal(ram(trueCluster({ stated: 'free', unknowns: [] }, home)), ram(home));
});

test('containers hold weights in all of their memory', () => {
  const truth = trueCluster(testbedNamed('prima-a5'), loadCluster('prima-a5'));
  assert.equal(
    ram(truth),
    [1, 2, 3, 4].map((index) => `container${index} 8.000`),
  );
});

const quantityOf = (unknown: UnknownQuantity): number => {
  switch (unknown.kind) {
    case 'disk':
      return unknown.bytesPerSecond;
    case 'gpu-rates':
      return unknown.share;
    default:
      return unknown.bytes;
  }
};

test('every cell that a value was chosen with is on file', () => {
  const places = new Set(loadPublished().map(({ table, row, column }) => `${table}, ${row}, ${column}`));
  for (const { unknowns } of TESTBEDS)
    for (const { seen } of unknowns) for (const place of seen) assert.ok(places.has(place), place);
});

test('schedulers see the rates that devices have, and the RAM that the paper states', () => {
  const testbed = testbedNamed('prima-a9');
  const stated = loadCluster('prima-a9');
  const believed = believedCluster(testbed, stated);
  const truth = trueCluster(testbed, believed);
  assert.is(believed.devices[0]?.disk.sequential, 1.6e9);
  assert.is(believed.devices[0]?.gpu?.bandwidth, 0.4 * (stated.devices[0]?.gpu?.bandwidth ?? 0));
  assert.is(believed.devices[0]?.memory.available, stated.devices[0]?.memory.available);
  assert.is(truth.devices[0]?.memory.available, 7.1 * GIB);
  assert.is(vramByHand(testbedNamed('prima-a5')), 600 * 2 ** 20);
  assert.is(vramByHand(testbed), 0);
});

test('every inferred value lies in its range, has a source, and names the cells it was chosen with', () => {
  for (const { unknowns } of TESTBEDS) {
    for (const { range, source, status, seen, ...unknown } of unknowns) {
      const value = quantityOf(unknown);
      assert.ok(range[0] <= value && value <= range[1]);
      assert.ok(source.length > 20);
      assert.is(seen.length > 0, status === 'inferred');
    }
  }
});

test('every cell that a value was chosen with is a published one', () => {
  const cells = new Set(loadPublished().map(({ table, row, column }) => `${table}, ${row}, ${column}`));
  for (const { unknowns } of TESTBEDS)
    for (const { seen } of unknowns) for (const cell of seen) assert.ok(cells.has(cell), cell);
});

test('a machine has the same parameters in every table of its testbed', () => {
  const machines = new Map<string, string>();
  for (const { testbed } of PRIMA_TABLES) {
    const own = testbedNamed(testbed);
    for (const device of trueCluster(own, believedCluster(own, loadCluster(own.belief))).devices) {
      const machine = JSON.stringify(device);
      const key = `${own.name.replace(/-(6|metal)$/, '')} ${device.name}`;
      assert.is(machines.get(key) ?? machine, machine, key);
      machines.set(key, machine);
    }
  }
});

test('variants of Table 3 have the same memory on the devices that they share', () => {
  const memoryOf = (name: string) => {
    const testbed = testbedNamed(name);
    return new Map(
      trueCluster(testbed, loadCluster(testbed.belief)).devices.map((device) => [device.name, device.memory.available]),
    );
  };
  const [first, ...others] = ['prima-home', 'prima-home-6', 'prima-home-metal'].map(memoryOf);
  for (const other of others) for (const [name, bytes] of first ?? []) assert.is(other.get(name), bytes, name);
});

test('the same ring from another device on', () => {
  assert.equal(
    ram(withHead(home, 'D1')).map((text) => text.slice(0, 2)),
    ['D1', 'D2', 'D3', 'D4'],
  );
  assert.is(withHead(home, undefined), home);
  assert.throws(() => withHead(home, 'D9'), /no device "D9"/);
  assert.throws(() => testbedNamed('prima-hom'), /prima-home/);
});

test.run();
