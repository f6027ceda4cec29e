import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { answersOf } from '../../../datasets/lab/answers.ts';
import { equalCell } from '../../../datasets/lab/cell.ts';
import type { LabPolicy } from '../../../datasets/lab/policies.ts';
import { LAB_SHAPES } from '../../../datasets/lab/shapes.ts';
import { loadClusterFile } from '../../../datasets/load.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { createModel } from '../../../engine/model/model.ts';
import { near } from '../../support/near.ts';

const MODEL = createModel(LAB_SHAPES.small, 'F16');
const MIB = 2 ** 20;
const { cluster } = loadClusterFile('four-small');
const FACTS = {
  cpu: (cluster.devices[0] as Device).cpu,
  wholeDiskRate: 2e9,
  randomRate: 1e8,
  ownBytes: [8e7, 8e7, 8e7, 8e7],
  hopSeconds: 0.003,
  linkBandwidth: 1e8,
  tokenSeconds: 0.04,
  readAhead: 8 * MIB,
};

function answers(policy: LabPolicy, rounds: number) {
  const cell = equalCell({ policy, rounds, memoryShare: 0.62, diskRate: 109e6 });
  const devices = cluster.devices.map(({ name }) => name);
  return answersOf({ facts: FACTS, model: MODEL, devices, cell, diskRates: cell.diskRates, tokens: 5 });
}

test('without prefetching a token reads more than Eq. 15 gives; with a pinned prefix it reads as much, in the time of one disk', () => {
  const [none, pinned] = [answers('none', 4), answers('pinned', 4)];
  // 38 % of the weights that devices map, the output layer among them.
  near(none.predicted.bytes, 0.38 * (32 * MODEL.layer.bytes + MODEL.output.bytes), 0.002);
  assert.ok(none.simulated.bytes > 2 * none.predicted.bytes);
  near(pinned.simulated.bytes, pinned.predicted.bytes, 0.05);
  // The disks' time for a quarter of what is read.
  near(pinned.simulated.seconds, pinned.simulated.bytes / 4 / 109e6, 0.05);
  assert.ok(pinned.simulated.seconds < none.simulated.seconds / 4);
});

test('for one willneed call per window Linux reads only its readahead: 8 MiB of each of 16 windows, at 109 MB/s', () => {
  const [whole, none] = [answers('willneed-whole', 4).simulated, answers('none', 4).simulated];
  near(none.seconds - whole.seconds, (16 * 8 * 2 ** 20) / 109e6, 0.25);
  near(whole.bytes, none.bytes, 0.01);
});

test('pages that arrived earlier are used while reclaim frees memory: exact seconds and bytes of a token', () => {
  const { simulated } = answers('none', 4);
  assert.equal([simulated.seconds.toFixed(6), simulated.bytes], ['4.703230', 656_152_576]);
});

test.run();
