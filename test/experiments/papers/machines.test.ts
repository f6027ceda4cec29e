import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster, loadPublished } from '../../../datasets/load.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { helmInputs } from '../../../experiments/papers/helm/helm.ts';
import { helmQuantity } from '../../../experiments/papers/helm/quantities.ts';
import { HETEROLLM_FIGURES } from '../../../experiments/papers/heterollm/rules.ts';

test('HELM: a machine has the same parameters in every table', () => {
  const { cells, caseOf } = helmInputs();
  const machines = new Map<string, string>();
  const tables = new Set<string>();
  for (const cell of cells) {
    const one = helmQuantity(cell) === undefined ? undefined : caseOf(cell);
    if (one === undefined) continue;
    const machine = JSON.stringify([one.cluster, one.specifiedBandwidth]);
    assert.is(machines.get(one.quantity.machine) ?? machine, machine, `${cell.table}, ${cell.row}, ${cell.column}`);
    machines.set(one.quantity.machine, machine);
    tables.add(cell.table);
  }
  assert.is(machines.size, 3);
  assert.ok(tables.size >= 5, [...tables].join(', '));
});

test('HeteroLLM: every figure is about the one phone', () => {
  const cells = loadPublished().filter(({ paper }) => paper === 'heterollm');
  const rules = HETEROLLM_FIGURES.flatMap((group) => group.rules);
  const clusters = rules.map(({ table, row, column }) => {
    const found = cells.find((cell) => cell.table === table && cell.row === row && cell.column === column);
    assert.ok(found, `${table}, ${row}, ${column}`);
    return found?.cluster;
  });
  assert.equal([...new Set(clusters)], ['hetero-8gen3']);
});

test('HeteroLLM: the phone has the same parameters in every cluster that it stands in', () => {
  const parameters = ({ name, description, ...others }: Device & { description?: string }): unknown => others;
  const [phone] = loadCluster('hetero-8gen3').devices;
  const phones = loadCluster('home-phones').devices.filter(({ soc }) => soc !== undefined);
  assert.is(phones.length, 2);
  for (const other of phones) assert.equal(parameters(other), parameters(phone as Device), other.name);
});

test.run();
