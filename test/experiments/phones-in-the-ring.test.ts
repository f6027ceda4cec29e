import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster, loadPlan } from '../../datasets/load.ts';
import { changed } from '../../experiments/phones-in-the-ring/sweeps.ts';
import { chipsOf, variantsOf } from '../../experiments/phones-in-the-ring/variants.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-phones-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const { code, stdout } = await runHere(
  'experiments/phones-in-the-ring.ts',
  ...['--models', 'Llama-3-8B', '--sweep', 'Llama-3-45B', '--planners', 'optimal', '--out', directory],
);

/** Lines of a CSV as objects. */
function rowsOf(file: string): Record<string, string>[] {
  const [header = '', ...lines] = readFileSync(join(directory, file), 'utf8').trim().split('\n');
  return lines.map((line) => {
    const cells = line.match(/("[^"]*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, '').replaceAll('"', '')) ?? [];
    return Object.fromEntries(header.split(',').map((name, index) => [name, cells[index] ?? '']));
  });
}

test('the findings say what phones gain, and up to which point', () => {
  assert.is(code, 0);
  assert.match(
    stdout.replaceAll(/\s+/g, ' '),
    /Phones with NPUs shorten a token of Llama-3-45B \d+ % \([\d.]+ % over GPUs alone\), and of Llama-3-8B not at all, since the others hold it; for Llama-3-45B that ends where links are \d+ times slower or phones have 1\/\d+ of their memory\./,
  );
});

test('more processors never take longer, and prediction and simulation agree within 2 %', () => {
  const rows = rowsOf('plans.csv');
  assert.is(rows.length, 6);
  for (const model of ['Llama-3-8B', 'Llama-3-45B']) {
    const own = rows.filter((row) => row.model === model);
    const [none, gpu, npu] = own.map((row) => Number(row.tpot_predicted_s)) as [number, number, number];
    assert.ok(npu <= gpu && gpu <= none, model);
  }
  for (const row of [...rows, ...rowsOf('sweeps.csv')]) {
    // If layers are reloaded, page faults overlap with computing, which the closed form ignores.
    const ratio = Number(row.tpot_simulated_s) / Number(row.tpot_predicted_s);
    assert.ok(Math.abs(ratio - 1) < 0.02, JSON.stringify(row));
  }
});

test('slower links move layers from the phones to the other devices', () => {
  const layers = rowsOf('sweeps.csv')
    .filter(({ sweep, with: variant }) => sweep === 'link speed' && variant === 'phones, GPU and NPU')
    .map((row) => Number(row.phone_layers));
  assert.is(layers[0], 0);
  assert.ok((layers.at(-1) as number) > 0);
  assert.equal(
    layers,
    layers.toSorted((one, other) => one - other),
  );
});

test('written plans say how each phone cuts its operators', () => {
  const { stages } = loadPlan(join(directory, 'plans/Llama-3-45B-optimal-phones-GPU-and-NPU.json'));
  const phone = stages.find(({ device }) => device.startsWith('phone'));
  assert.ok((phone?.partition?.decode.down.npuRows ?? 0) > 0);
});

test('a sweep changes only its own quantity', () => {
  const cluster = loadCluster('home-phones');
  const [before, after] = [cluster, changed(cluster, 'NPU speed', 2)];
  assert.equal(chipsOf(cluster), ['phone1', 'phone2']);
  const phone = ({ devices }: typeof cluster) => devices[2] as (typeof devices)[number];
  assert.is(phone(after).npu?.flops.F16, 2 * (phone(before).npu?.flops.F16 ?? 0));
  assert.equal({ ...phone(after), npu: undefined }, { ...phone(before), npu: undefined });
  assert.is(changed(cluster, 'link speed', 2).links.default.latency, cluster.links.default.latency / 2);
  assert.is(phone(changed(cluster, 'phone memory', 8)).memory.available, phone(before).memory.total);
  assert.equal(
    variantsOf(cluster).map(({ cluster: { devices }, system }) => [devices.length, system]),
    [
      [2, 'hetero-tensor'],
      [4, 'gpu-only'],
      [4, 'hetero-tensor'],
    ],
  );
});

test('a cluster without phones and one with only phones are refused', async () => {
  const problem = async (cluster: string): Promise<string> => {
    const { code: failed, stderr } = await runHere(
      'experiments/phones-in-the-ring.ts',
      '--cluster',
      cluster,
      '--out',
      directory,
    );
    assert.is(failed, 2);
    return stderr;
  };
  assert.is(
    await problem('home-example'),
    'cluster home-example: has no device with "gpu", "npu" and "soc"; try home-phones\n',
  );
  assert.match(await problem('hetero-8gen3'), /has chips only/);
});

testReport(() => join(directory, 'report.html'), 5);

test.run();
