import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterStatements } from '../../datasets/statements.ts';
import { deviceKind, reloadRate, transferSeconds } from '../../engine/hardware/device.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';

const EXAMPLE = `{
  "name": "two",
  "head": "pc",
  "devices": [
    {
      "name": "mac", "os": "macos",
      "memory": { "total": "8 GiB", "available": "2.5 GiB" },
      "cpu": { "cores": 8, "compute": "200 GFLOPS", "bandwidth": { "value": "68 GB/s", "efficiency": 0.5, "source": "specification: LPDDR4X" } },
      "gpu": { "api": "metal", "memory": { "total": "8 GiB", "available": "5 GiB" }, "compute": "2 TFLOPS", "bandwidth": "60 GB/s" },
      "disk": { "sequential": "2 GB/s", "random": "700 MB/s" }
    },
    {
      "name": "pc", "os": "linux",
      "memory": { "total": "32 GB", "available": "20 GB" },
      "cpu": { "cores": 8, "compute": { "default": "400 GFLOPS", "F16": "300 GFLOPS" }, "bandwidth": "40 GB/s" },
      "disk": { "sequential": "3 GB/s" }
    }
  ],
  "links": { "default": { "latency": "5 ms", "bandwidth": "480 Mbps" },
    "pairs": [ { "between": ["pc", "mac"], "latency": "500 us", "bandwidth": "1 Gbps" } ] }
}`;

test('quantities are converted to SI: GB is 10⁹, GiB 2³⁰, bits become bytes', () => {
  const { devices, links } = parseCluster(EXAMPLE, 'x.json');
  const [pc, mac] = devices;
  assert.is(pc?.memory.total, 32e9);
  assert.is(mac?.memory.available, 2.5 * 2 ** 30);
  assert.is(links.default.bandwidth, 60e6);
  assert.is(links.default.latency, 5e-3);
  assert.is(pc?.cpu.flops.F16, 300e9);
  assert.is(pc?.cpu.flops.Q4_K, 400e9);
});

test('a Linux device may state how its kernel reclaims and reads ahead; other systems have neither', () => {
  const pc = '"disk": { "sequential": "3 GB/s" }';
  const of = (text: string) => parseCluster(EXAMPLE.replace(pc, text), 'x.json').devices[0];
  const [stated, silent] = [
    of(`"disk": { "sequential": "3 GB/s", "readAhead": "512 KiB" }, "reclaim": "mglru"`),
    of(pc),
  ];
  assert.equal([stated?.disk.readAhead, stated?.reclaim], [512 * 2 ** 10, 'mglru']);
  assert.equal([silent?.disk.readAhead, silent?.reclaim], [undefined, undefined]);
  assert.throws(
    () => of(`${pc}, "reclaim": "mglr"`),
    /^x\.json: devices\[1\]\.reclaim: unknown "mglr"; did you mean "mglru"/,
  );
  const onMac = (from: string, to: string) => () => parseCluster(EXAMPLE.replace(from, to), 'x.json');
  assert.throws(
    onMac('"os": "macos",', '"os": "macos", "reclaim": "two-lists",'),
    /^x\.json: devices\[0\]\.reclaim: needs os "linux" or "android", not "macos"; remove it$/,
  );
  assert.throws(
    onMac('"random": "700 MB/s"', '"readAhead": "1 MiB"'),
    /devices\[0\]\.disk\.readAhead: needs os "linux" or "android", not "macos"; remove it$/,
  );
});

test('links may be shared, late, lossy and half duplex', () => {
  const text = EXAMPLE.replace(
    '"480 Mbps" }',
    '"480 Mbps", "jitter": "2 ms", "loss": 0.01, "duplex": "half" }, "medium": "shared"',
  );
  const { links } = parseCluster(text, 'x.json');
  assert.equal(links.default, { latency: 5e-3, bandwidth: 60e6, jitter: 2e-3, loss: 0.01, duplex: 'half' });
  assert.is(links.medium, 'shared');
  assert.throws(() => parseCluster(text.replace('0.01', '1'), 'x.json'), /links\.default\.loss: 1 is not a share/);
  assert.throws(() => parseCluster(text.replace('"shared"', '"wifi"'), 'x.json'), /links\.medium: unknown "wifi"/);
  assert.throws(() => parseCluster(text.replace('jitter', 'jiter'), 'x.json'), /links\.default: .*jiter|unknown key/);
});

test('measured facts of a CPU are read if present', () => {
  const text = EXAMPLE.replace(
    '"bandwidth": "40 GB/s"',
    `"bandwidth": "40 GB/s", "promptCompute": { "default": "2 TFLOPS", "F16": "1 TFLOPS" }, "dispatch": "2 s",
     "attention": { "memory": "10 GB/s", "cache": "30 GB/s" }, "activations": "5 GB/s"`,
  );
  const [pc, mac] = parseCluster(text, 'x.json').devices;
  assert.equal([pc?.cpu.promptFlops?.F16, pc?.cpu.promptFlops?.Q8_0], [1e12, 2e12]);
  assert.equal(pc?.cpu.attention, { memory: 10e9, cache: 30e9 });
  assert.equal([pc?.cpu.dispatch, pc?.cpu.activationBandwidth], [2, 5e9]);
  assert.equal(Object.keys(mac?.cpu ?? {}), ['cores', 'flops', 'bandwidth', 'kvCopyLatency', 'cache']);
  assert.throws(() => parseCluster(text.replace('"cache": "30', '"cash": "30'), 'x.json'), /attention\.cache/);
});

test('attention over quantized caches may have rates of its own', () => {
  const text = EXAMPLE.replace(
    '"bandwidth": "40 GB/s"',
    `"bandwidth": "40 GB/s",
     "attention": { "memory": "10 GB/s", "cache": "30 GB/s", "Q8_0": { "memory": "6 GB/s", "cache": "20 GB/s" } }`,
  );
  const [pc] = parseCluster(text, 'x.json').devices;
  assert.equal(pc?.cpu.attention, { memory: 10e9, cache: 30e9, quantized: { Q8_0: { memory: 6e9, cache: 20e9 } } });
  assert.throws(() => parseCluster(text.replace('"Q8_0"', '"Q8"'), 'x.json'), /attention.*Q8/);
});

test('the head comes first in the ring, and kinds follow from operating system and Metal', () => {
  const { devices } = parseCluster(EXAMPLE, 'x.json');
  assert.equal(
    devices.map(({ name }) => name),
    ['pc', 'mac'],
  );
  assert.equal(devices.map(deviceKind), ['linux', 'macos-metal']);
});

test('a device with Windows, which may have CUDA, counts as one with Linux, and a report states that as assumed', () => {
  const text = EXAMPLE.replace(
    '"os": "linux",',
    `"os": "windows",
     "gpu": { "api": "cuda", "memory": { "total": "8 GiB", "available": "7 GiB" }, "compute": "9 TFLOPS", "bandwidth": "400 GB/s" },`,
  );
  const [pc] = parseCluster(text, 'x.json').devices;
  assert.is(pc?.os, 'windows');
  assert.equal(pc && [deviceKind(pc), reloadRate(pc)], ['linux', 3e9]);
  const stated = clusterStatements(JSON.parse(text)).filter(({ place }) => place.endsWith(' os'));
  assert.equal(stated, [
    {
      place: 'pc os',
      value: 'windows',
      efficiency: 1,
      kind: 'assumed',
      source: 'reclaims mapped weights and reads ahead as Linux does',
    },
  ]);
});

test('an efficiency multiplies the value and is recorded in the provenance', () => {
  const { devices, provenance } = parseCluster(EXAMPLE, 'x.json');
  assert.is(devices[1]?.cpu.bandwidth, 34e9);
  assert.equal(provenance['devices[0].cpu.bandwidth'], { source: 'specification: LPDDR4X', efficiency: 0.5 });
});

test('a pair’s own link applies both ways, and 1 MB over 1 Gbps takes 8 ms and the latency', () => {
  const cluster = parseCluster(EXAMPLE, 'x.json');
  assert.is(transferSeconds(cluster.link(0, 1), 1e6), 0.0085);
  assert.is(transferSeconds(cluster.link(1, 0), 1e6), 0.0085);
});

const MISTAKES: readonly [string, string, string, string][] = [
  [
    'a rate for a size',
    '"2.5 GiB"',
    '"4.1 GB/s"',
    'x.json: devices[0].memory.available: "4.1 GB/s" is a rate; a size with its unit is needed',
  ],
  ['a bare number', '"2.5 GiB"', '2.5', 'x.json: devices[0].memory.available: 2.5 has no unit'],
  ['a number without unit', '"2.5 GiB"', '"2.5"', 'x.json: devices[0].memory.available: "2.5" has no unit'],
  ['a negative size', '"2.5 GiB"', '"-2.5 GiB"', 'x.json: devices[0].memory.available: "-2.5 GiB" is -2684354560 B'],
  ['zero', '"2.5 GiB"', '"0 GiB"', 'x.json: devices[0].memory.available: "0 GiB" is 0 B'],
  ['not a number', '"2.5 GiB"', '"NaN GiB"', 'x.json: devices[0].memory.available: "NaN GiB" is not a quantity'],
  ['an absurd rate', '"3 GB/s"', '"3 EB/s"', 'x.json: devices[1].disk.sequential: "3 EB/s" is 3000000000000000000 B/s'],
  ['more free than there is', '"2.5 GiB"', '"25 GiB"', 'x.json: devices[0].memory.available: is more than total'],
  [
    'a head that is no device',
    '"head": "pc"',
    '"head": "pd"',
    'x.json: head: no device is called "pd"; did you mean "pc"?',
  ],
  ['a name twice', '"name": "pc"', '"name": "mac"', 'x.json: devices[1].name: "mac" occurs twice; rename one'],
  ['an unknown OS', '"linux"', '"linus"', 'x.json: devices[1].os: unknown "linus"; did you mean "linux"?'],
  [
    'an unknown key',
    '"cores": 8, "compute": "200',
    '"corse": 8, "compute": "200',
    'x.json: devices[0].cpu.cores: is missing; a whole number between 1 and 4096 is needed (found "corse")',
  ],
  ['one key too many', '"head": "pc",', '"head": "pc", "heat": 1,', 'x.json: heat: unknown key; did you mean "head"?'],
  [
    'Metal on Linux',
    '"api": "metal"',
    '"api": "cuda"',
    'x.json: devices[0].gpu.api: cuda needs os "linux" or "windows", not "macos"',
  ],
  [
    'random faster than sequential',
    '"700 MB/s"',
    '"7 GB/s"',
    'x.json: devices[0].disk.random: is faster than sequential',
  ],
  [
    'an efficiency above 1',
    '0.5, "source"',
    '1.5, "source"',
    'x.json: devices[0].cpu.bandwidth.efficiency: 1.5 is not a share',
  ],
  [
    'a source of no kind',
    '"specification: LPDDR4X"',
    '"the internet"',
    'x.json: devices[0].cpu.bandwidth.source: a text that starts with one of published',
  ],
  [
    'a link to nowhere',
    '["pc", "mac"]',
    '["pc", "mak"]',
    'x.json: links.pairs[0].between: no device is called "mak"; did you mean "mac"?',
  ],
  ['malformed JSON', '"5 ms",', '"5 ms"', 'x.json: line 19, column 45: is not valid JSON'],
  ['half a file', EXAMPLE.slice(-300), '', 'x.json: line'],
];

for (const [what, from, to, expected] of MISTAKES) {
  test(`${what} is an error of one line with its place`, () => {
    assert.ok(EXAMPLE.includes(from), 'the mistake is made');
    let found = 'no error';
    try {
      parseCluster(EXAMPLE.replace(from, to), 'x.json');
    } catch (error) {
      found = (error as Error).message;
    }
    assert.ok(found.startsWith(expected), found);
    assert.not.match(found, '\n');
  });
}

test('a cluster without devices is refused', () => {
  assert.throws(
    () =>
      parseCluster(
        '{"name":"none","devices":[],"links":{"default":{"latency":"1 ms","bandwidth":"1 Gbps"}}}',
        'x.json',
      ),
    /x\.json: devices: is empty; give at least one device/,
  );
});

test('every testbed in datasets/clusters parses, and each of its numbers has a source', () => {
  const files = readdirSync('datasets/clusters').filter((file) => file.endsWith('.json'));
  assert.ok(files.length >= 12, `${files.length} files`);
  for (const file of files) {
    const cluster = parseCluster(readFileSync(`datasets/clusters/${file}`, 'utf8'), file);
    assert.is(`${cluster.name}.json`, file);
    const sources = Object.values(cluster.provenance).length;
    // An example, and what a lab imposes on devices that it measures itself.
    const isTestbed = file !== 'home-example.json' && file !== 'four-small.json';
    assert.ok(!isTestbed || sources >= 10 * cluster.devices.length, `${file}: ${sources} sources`);
  }
});

test.run();
