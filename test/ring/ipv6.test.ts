import { mkdtempSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { equalLayout, headHere, requestOf, workerHere } from './ring-in-process.ts';

testIf(
  Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1')),
  'there is no IPv6 on loopback',
  'a ring over IPv6',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
    const path = await madeFile({ folder, name: 'tiny' });
    const first = await workerHere('w', path, { headKeys: undefined, address: 'tcp://[::1]:*' });
    const second = await workerHere('v', path, { headKeys: undefined, address: 'tcp://[::1]:*' });
    assert.match(first.member.address, /^tcp:\/\/\[::1\]:\d+$/);
    const { head } = headHere(path, [first.member, second.member]);
    await head.gather();
    await head.assemble(equalLayout(['w', 'v'], 2));
    assert.is((await requestOf(head).evaluate([1, 2, 3])).length, 260);
    await head.close();
    await first.worker.close();
    await second.worker.close();
    rmSync(folder, { recursive: true });
  },
);

test.run();
