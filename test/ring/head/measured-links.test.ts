import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { reaches } from '../../../engine/hardware/cluster.ts';
import { parseCluster } from '../../../engine/hardware/parse-cluster.ts';
import { measuredCluster } from '../../../engine/ring/head/measured-links.ts';
import { parseRing } from '../../../engine/ring/head/ring-file.ts';

const FACTS = JSON.stringify({
  name: 'as it calls itself',
  os: 'linux',
  memory: { total: '16 GiB', available: '12 GiB' },
  cpu: { cores: 4, compute: '400 GFLOPS', bandwidth: '40 GB/s' },
  disk: { sequential: '2 GB/s' },
});
const DEVICES = ['h', 'a', 'b'].map((device) => ({ device, facts: FACTS, memory: 2 ** 30 }));
const KEY = '5a'.repeat(32);
const ADDRESSES = ['a', 'b'].map((name) => ({ name, address: `tcp://${name}:7400`, publicKey: KEY }));
const LINKS = [
  { from: 'h', to: 'a', latency: 1e-3, bandwidth: 100e6 },
  { from: 'h', to: 'b', latency: 3e-3, bandwidth: 50e6 },
  { from: 'a', to: 'b', latency: 2e-3, bandwidth: 80e6 },
  { from: 'b', to: 'a', latency: 1e-3, bandwidth: 70e6 },
];

const FOUND = { addresses: ADDRESSES, unreachable: [] };

test('devices have their ring names and offered memory, and a link is as slow as its slower direction', () => {
  const text = measuredCluster(DEVICES, LINKS, FOUND);
  const cluster = parseCluster(text, 'measured');
  assert.equal(
    cluster.devices.map(({ name, memory }) => [name, memory.available, memory.total]),
    ['h', 'a', 'b'].map((name) => [name, 2 ** 30, 2 ** 34]),
  );
  assert.equal([cluster.link(1, 2).latency, cluster.link(2, 1).bandwidth], [2e-3, 70e6]);
  assert.equal(cluster.link(0, 2).bandwidth, 50e6);
  assert.is(cluster.provenance['devices[0].memory.available']?.source, 'measured: what the device offers');
  assert.equal(parseRing(text, 'measured', false).members, ADDRESSES);
});

test('unmeasured pairs are as slow as the slowest measured link', () => {
  const cluster = parseCluster(measuredCluster(DEVICES, LINKS.slice(0, 1), FOUND), 'measured');
  assert.equal([cluster.link(1, 2).latency, cluster.link(1, 2).bandwidth], [1e-3, 100e6]);
});

test('pairs that don’t reach each other are said to', () => {
  const text = measuredCluster(DEVICES, LINKS.slice(0, 1), { ...FOUND, unreachable: [['b', 'a']] });
  const cluster = parseCluster(text, 'measured');
  assert.equal([reaches(cluster, 'a', 'b'), reaches(cluster, 'h', 'b')], [false, true]);
});

test('the description of a device is checked like a file', () => {
  const said = (facts: string): string => {
    try {
      parseCluster(measuredCluster([{ device: 'h', facts, memory: 2 ** 30 }], LINKS, FOUND), 'measured');
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  assert.match(said('{'), /^profile of h: /);
  assert.match(said('null'), /^measured: devices\[0\]\.os: is missing/);
  assert.match(said('{"os":"beos","memory":{}}'), /^measured: devices\[0\]\.memory\.total: is missing|unknown "beos"/);
});

test.run();
