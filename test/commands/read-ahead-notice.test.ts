import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readAheadNotice } from '../../commands/read-ahead-notice.ts';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';

const catalogue = loadCatalogue();
const KIB = 1024;
const GIB = 2 ** 30;

function notice(name: string, gibibytes: number, readAhead: number | undefined): string | undefined {
  const model = createNamedModel(catalogue, name);
  return readAheadNotice({ file: 'model.gguf', model, available: gibibytes * GIB, readAhead });
}

test('a mixture that exceeds memory says what page faults read besides its experts, and what to do', () => {
  // An expert of Qwen3-30B-A3B has three matrices of 768 × 2048 in about 4.9 bits: 0.9 MB. Eight MiB ahead are nine of them.
  const text = notice('Qwen3-30B-A3B:Q4_K_M', 8, 8192 * KIB) ?? '';
  assert.match(
    text,
    /^model\.gguf: its 17\.\d GiB exceed the 8\.00 GiB that are available\. Page faults read 8\.00 MiB ahead, /,
  );
  const [, factor, kib] =
    /about ([\d.]+) times .* give --memory, .* set read_ahead_kb of its disk to (\d+)$/.exec(text) ?? [];
  assert.ok(Number(factor) > 1.5 && Number(factor) < 10, text);
  assert.ok(Number(kib) > 700 && Number(kib) < 1100, text);
});

test('nothing is said of what fits, of dense models, of short read-ahead, and where nobody says how long it is', () => {
  assert.is(notice('Qwen3-30B-A3B:Q4_K_M', 32, 8192 * KIB), undefined);
  assert.is(notice('Llama-3-70B:Q4_K_M', 8, 8192 * KIB), undefined);
  assert.is(notice('Qwen3-30B-A3B:Q4_K_M', 8, 128 * KIB), undefined);
  assert.is(notice('Qwen3-30B-A3B:Q4_K_M', 8, undefined), undefined);
});

test.run();
