import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FITTED_CELLS } from '../../../../experiments/papers/helm/constants.ts';
import { contextAgrees, distinctContexts } from '../../../../experiments/papers/helm/contexts.ts';
import { type HelmReproduction, helmReproduced } from '../../../../experiments/papers/helm/helm.ts';
import { rowFloors } from '../../../../experiments/papers/helm/ratios.ts';
import { type HelmComparison, verdictOn } from '../../../../experiments/papers/helm/rules.ts';
import { splitAgrees } from '../../../../experiments/papers/helm/splits.ts';
import { batchesOnSplits, feasibility } from '../../../../experiments/papers/helm/summary.ts';

/** The results required of HELM's tables. */
export function helmSpecification(helm: HelmReproduction): void {
  const { comparisons, splits, scalings, contexts, summary, constants, conflicts } = helm;
  const inTable = (table: string, column: RegExp): HelmComparison[] =>
    comparisons.filter(({ cell }) => cell.table === table && column.test(cell.column));
  const aimed = (name: string): HelmComparison[] =>
    comparisons.filter(({ detail, use }) => detail.aim?.name === name && use === 'held-out');

  test('HELM: every result of Tables 6.1 to 6.5 is there', () => {
    // 12 machines and models × 4 systems × 2, less the 5 TTFTs that vLLM doesn't report.
    assert.is(inTable('Table 6.1', /./).length, 91);
    assert.is(inTable('Table 6.2', /./).length, 32);
    assert.is(inTable('Table 6.3', /AVX2/).length, 20);
    assert.is(inTable('Table 6.4', /offload/).length, 16);
    assert.is(inTable('Table 6.5', /Meas/).length, 9);
  });

  test('HELM: all five splits are found, and 8192 bytes at the 8B’s boundary', () => {
    assert.equal(
      splits.map(({ machine, model, found }) => `${machine} ${model} ${found?.join('→')}`),
      [
        'helm-3090 Qwen3-32B 43→23',
        'helm-3090 Qwen3-14B 8→34',
        'helm-4060 Qwen3-4B 4→34',
        'helm-4060 Qwen3-8B 21→17',
        'helm-l40s Qwen3-32B 18→48',
      ],
    );
    assert.ok(splits.every(splitAgrees));
    assert.is(splits.find(({ model }) => model === 'Qwen3-8B')?.publishedBytes, 8192);
  });

  test('HELM: constants are fitted to fourteen cells, all of them marked, and come out as printed there', () => {
    const places = FITTED_CELLS.flatMap(({ cells }) => cells);
    assert.is(places.length, 14);
    for (const { table, row, column } of places) {
      const found = comparisons.find(({ cell }) => cell.table === table && cell.row === row && cell.column === column);
      assert.is(found?.cell.use, 'fit');
      assert.ok(
        Math.abs(Number(found?.predicted) / Number(found?.published) - 1) < 1e-4,
        `${table}, ${row}, ${column}`,
      );
    }
  });

  test('HELM: fitted constants have values that are usual for such machines', () => {
    const { gpuEfficiency, vllmBlock, dispatch, cpuBandwidth, attentionShare, staging, dynamicCache } = constants;
    for (const share of [gpuEfficiency, attentionShare]) assert.ok(share > 0 && share < 1);
    // A memcpy of one thread; twice the calls of Python for a block.
    assert.ok(staging > 5e9 && staging < 40e9);
    assert.ok(dynamicCache > 1 && dynamicCache < 4);
    assert.ok(vllmBlock > 0 && vllmBlock < 1e-4);
    for (const seconds of Object.values(dispatch)) assert.ok(seconds > 1e-4 && seconds < 3e-3);
    // Two channels of DDR5, eight of DDR4.
    assert.ok((cpuBandwidth['helm-4060'] ?? 0) < 83.2e9);
    assert.ok(Math.max(...Object.values(cpuBandwidth)) < 204.8e9);
  });

  test('HELM: other prints of a fitted quantity are no tests, and the summary omits their errors', () => {
    const prints = comparisons.filter(
      ({
        detail: {
          quantity: { machine, model, system, batch, kind },
        },
      }) => machine === 'helm-3090' && model === 'Qwen3-8B' && system === 'helm' && batch === 1 && kind === 'token',
    );
    assert.is(prints.length, 5);
    assert.ok(prints.every(({ use }) => use === 'fit'));
  });

  test('vLLM: within 3 % on the three cells held out, two of them on a machine to which nothing of it is fitted', () => {
    const cells = aimed('vLLM');
    assert.equal(
      cells.map(({ cell }) => cell.row),
      ['3090 / Qwen3-4B', '3090 / Qwen3-8B', 'L40S / Qwen3-8B'],
    );
    assert.ok(cells.every((one) => verdictOn(one) === 'kept'));
  });

  test('HELM: splits of the RTX 4060 within 12 %, TTFT of splits as well, all on the GPU within 13 % or its own spread', () => {
    const [split, first, gpu] = [aimed('split, RTX 4060'), aimed('TTFT of splits'), aimed('all on the GPU')];
    assert.equal([split.length, first.length, gpu.length], [11, 3, 15]);
    assert.ok(first.every((one) => verdictOn(one) === 'kept'));
    assert.ok(gpu.every((one) => verdictOn(one) !== 'missed'));
    assert.is(gpu.filter((one) => verdictOn(one) === 'within noise').length, 4);
    // 80.1 ms, where the others of the same are 58.1 and 60.7.
    const others = split.filter((one) => verdictOn(one) !== 'kept');
    assert.equal(
      others.map((one) => [one.cell.value, verdictOn(one)]),
      [[80.1, 'excluded']],
    );
  });

  test('HELM: what runs and what does not, in Tables 6.1 and 6.2; batches on splits are one statement behind nine cells', () => {
    for (const [table, cells] of [
      ['Table 6.1', 48],
      ['Table 6.2', 23],
    ] as const) {
      const { agree, of, against } = feasibility(comparisons, table);
      assert.equal([agree, of, against], [cells, cells, []]);
    }
    const batches = batchesOnSplits(comparisons);
    assert.is(batches.length, 9);
    assert.ok(batches.every(({ published, predicted }) => published === 'OOM' && typeof predicted === 'number'));
    const row = summary.find(({ what }) => what.startsWith('HELM, batches on splits'));
    assert.equal([row?.agreeing, row?.met], [{ agree: 0, of: 1 }, false]);
  });

  test('HELM: three splits test the reserve, which is fitted to the laptop’s two', () => {
    const row = summary.find(({ what }) => what.startsWith('HELM, splits'));
    assert.equal(row?.agreeing, { agree: 3, of: 3 });
  });

  test('HELM: decoding is within 8 % in the median over six configurations', () => {
    const row = summary.find(({ what }) => what.startsWith('HELM, decoding, by configuration'));
    assert.equal([row?.configurations, row?.met], [6, true]);
  });

  test('HELM: by memory 22 of the 30 longest outputs agree; closed form and allocator find the same', () => {
    const limits = distinctContexts(contexts);
    assert.is(limits.length, 30);
    assert.equal(
      limits.flatMap((one) =>
        contextAgrees(one) ? [] : [`${one.cell.row} ${one.detail.system} ${one.published} ${one.predicted}`],
      ),
      [
        '3090 / Qwen3-4B vllm 8192 32768',
        '3090 / Qwen3-8B vllm 8192 32768',
        '3090 / Qwen3-4B accelerate 4096 32768',
        '3090 / Qwen3-8B accelerate 4096 32768',
        '3090 / Qwen3-14B accelerate 128 16384',
        '4060 / Qwen3-4B helm 8192 32768',
        '4060 / Qwen3-4B accelerate 1024 4096',
        '4060 / Qwen3-8B accelerate 128 4096',
      ],
    );
    for (const { predicted, simulated } of contexts) assert.is(simulated, predicted);
  });

  test('HELM: one time limit gives all limits of Accelerate and vLLM that memory doesn’t', () => {
    const { printed, against } = conflicts.find(({ subject }) => subject.startsWith('Longest outputs')) ?? {};
    assert.is(printed, '8192, 8192, 4096, 4096, 128, 1024, 128 tokens, for want of memory (6.2)');
    assert.match(against ?? '', /decodes in 176 to 191 s .* gives all 7, on two machines/);
  });

  test('HELM: twelve of fourteen batches scale within 10 % or the thesis’s own spread', () => {
    assert.is(scalings.length, 15);
    assert.equal(
      scalings.flatMap(({ cell, detail: { verdict } }) =>
        verdict === 'kept' ? [] : [`${cell.row}, ${cell.column}: ${verdict}`],
      ),
      ['3090 / Qwen3-4B, B=4: within noise', 'L40S / Qwen3-4B, B=4: missed', 'L40S / Qwen3-14B, B=2: missed'],
    );
    assert.is(summary.find(({ what }) => what.includes('throughput of batches'))?.met, false);
  });

  test('HELM: no law by which requests cost ever more keeps the target of batches on the 14B', () => {
    const floors = new Map(rowFloors(scalings).map(({ row, floor }) => [row, floor]));
    const found = ['L40S / Qwen3-4B', 'L40S / Qwen3-8B', 'L40S / Qwen3-14B'].map((row) =>
      (floors.get(row) ?? 0).toFixed(3),
    );
    assert.equal(found, ['0.028', '0.062', '0.127']);
  });

  test('HELM: Accelerate’s copies: within 10 % on three configurations, where one rate is fitted to a fourth', () => {
    const cells = comparisons.filter(
      ({ detail: { quantity }, use, cell, predicted }) =>
        use === 'held-out' &&
        quantity.system === 'accelerate' &&
        typeof predicted === 'number' &&
        ['4060', '3090 / Qwen3-14B', 'L40S / Qwen3-32B'].some((row) => cell.row.startsWith(row)),
    );
    assert.is(cells.length, 10);
    for (const { cell, predictedError = 1 } of cells)
      assert.ok(Math.abs(predictedError) < 0.1, `${cell.row}, ${cell.column}: ${predictedError}`);
  });

  test('HELM: TTFT with all in VRAM: within 5 % on three cells, a time for each server fitted to two', () => {
    const cells = inTable('Table 6.1', /HELM TTFT/).filter(
      ({ cell, use }) => use === 'held-out' && /^(3090 \/ Qwen3-4B|L40S \/ Qwen3-(4|14)B)$/.test(cell.row),
    );
    assert.is(cells.length, 3);
    for (const { cell, predictedError = 1 } of cells) assert.ok(Math.abs(predictedError) < 0.05, cell.row);
  });

  test('HELM: simulation and prediction agree, since nothing overlaps', () => {
    for (const { predicted, simulated, cell } of comparisons) {
      if (typeof predicted !== 'number' || typeof simulated !== 'number') continue;
      assert.ok(Math.abs(simulated / predicted - 1) < 1e-3, `${cell.table}, ${cell.row}, ${cell.column}`);
    }
  });

  test('HELM: without KV offload six of seven cells are within 20 %; the laptop’s 8B is not', () => {
    const cells = inTable('Table 6.4', /no KV/).filter(({ use }) => use === 'held-out');
    assert.is(cells.length, 7);
    const off = cells.filter(({ predictedError = 1 }) => Math.abs(predictedError) > 0.2);
    assert.equal(
      off.map(({ cell }) => cell.row),
      ['4060 / Qwen3-8B'],
    );
  });

  test('HELM: the fallback has one rate, as stated; the 3090’s 0.1 tok/s is within its digit, its 14B is not', () => {
    const cells = inTable('Table 6.3', /no AVX2/);
    const errors = new Map(cells.map(({ cell, predictedError = 1 }) => [cell.row, predictedError]));
    assert.ok(Math.abs(errors.get('3090 / Qwen3-32B') ?? 1) < 0.5);
    assert.ok((errors.get('3090 / Qwen3-14B') ?? 0) < -0.6);
  });

  test('HELM: halving the CPU’s rate does nothing where all is in VRAM (6.4.3), and costs splits a fifth or more', () => {
    const text = helm.remarks.find(({ title }) => title.startsWith('§6.4.3'))?.texts.join(' ') ?? '';
    assert.match(text, /the 5 configurations in VRAM lose 0\.0 % at most, and the 5 splits 22 % to 49 %/);
  });

  test('HELM: what is not comparable isn’t compared', () => {
    const compared = helmReproduced(helm).comparisons.map(({ cell }) => `${cell.table} ${cell.column}`);
    assert.not.ok(compared.some((place) => /^§7\.1|difference from Accelerate|PyTorch fp16 GEMM/.test(place)));
  });

  test('HELM: what the thesis prints twice is shown twice; report and JSON name every table', () => {
    assert.ok(conflicts.some(({ printed, against }) => printed.startsWith('27.1') && /21\.1.*50\.5/.test(against)));
    const { page, data } = helmReproduced(helm);
    const titles = page.sections.map(({ title }) => title);
    for (const table of ['6.1', '6.2', '6.3', '6.4', '6.5']) {
      assert.ok(titles.some((title) => title.startsWith(`Table ${table}`)));
    }
    assert.is((data as { cells: unknown[] }).cells.length, comparisons.length);
  });
}
