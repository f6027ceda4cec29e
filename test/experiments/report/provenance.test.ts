import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Statement } from '../../../datasets/statements.ts';
import { provenanceSentence, statementsTable } from '../../../experiments/report/provenance.ts';

const STATEMENTS: readonly Statement[] = [
  { place: 'PC cpu.bandwidth', value: '45 GB/s', efficiency: 1, kind: 'published', source: 'HELM 4.1.2' },
  { place: 'PC gpu.bandwidth', value: '936 GB/s', efficiency: 0.85, kind: 'specification', source: 'RTX 3090' },
  { place: 'links.default.latency', value: '1 ms', efficiency: 1, kind: 'unstated', source: '' },
];

test('quantities are counted by the kind of their source', () => {
  const sentence =
    'home is described by 3 quantities: 1 published by the paper, 1 from specifications and 1 without a stated source.';
  assert.is(provenanceSentence('home', STATEMENTS), sentence);
});

test('the table shows stated values and the share that is used', () => {
  const { rows, fold } = statementsTable('home', STATEMENTS);
  assert.is(fold, 'The 3 quantities of home, and where each comes from');
  assert.equal(rows[0], ['PC cpu.bandwidth', '45 GB/s', '', 'published', 'HELM 4.1.2']);
  assert.equal(rows[1], ['PC gpu.bandwidth', '936 GB/s', '85 %', 'specification', 'RTX 3090']);
});

test.run();
