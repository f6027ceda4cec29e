import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { recordRouting } from '../../engine/runtime/load/record-routing.ts';
import { fittingRouting } from '../../engine/runtime/observed/replayed-routes.ts';
import { goldenArchitecture, goldenArchitecturePath } from '../support/golden-architectures.ts';

const path = goldenArchitecturePath('qwen3moe-F16');
const { tokens } = goldenArchitecture('qwen3moe-F16');
const kernels = openKernels({ implementation: 'reference' });
const recorded = recordRouting({ model: path, kernels, tokens, together: 16 });
if (recorded === undefined) throw new Error('no experts');
const own = { ...recorded, tokens: tokens.length };

/** Logits of all tokens, which are evaluated in parts. */
function logits(routing: typeof own | undefined, parts: readonly number[]): number[] {
  const text = loadTransformer(path, { kernels, context: 64, kvCache: 'F32', routing });
  return parts.flatMap((count) => [...text.evaluateAll(tokens.slice(text.position, text.position + count))]);
}

test('a model that replays its own choices computes what it does by itself, in any parts', () => {
  const plain = logits(undefined, [12]);
  assert.equal(logits(own, [12]), plain);
  assert.equal(logits(own, [5, 1, 1, 5]), plain);
});

test('other choices give other results, from the first token that has them', () => {
  const chosen = own.chosen.slice();
  const each = own.layers * own.used;
  // The last expert of token 8 in the first layer becomes another.
  const at = 8 * each + own.used - 1;
  const used = [...chosen.subarray(8 * each, 8 * each + own.used)];
  chosen[at] = [0, 1, 2].find((expert) => !used.includes(expert)) as number;
  const [plain, other] = [logits(own, [12]), logits({ ...own, chosen }, [12])];
  const width = plain.length / 12;
  assert.equal(other.slice(0, 8 * width), plain.slice(0, 8 * width));
  assert.not.equal(other.slice(8 * width, 9 * width), plain.slice(8 * width, 9 * width));
});

test('a record that fits no router of the model says what it has', () => {
  const { model } = loadTransformer(path, { kernels, context: 64 });
  assert.is(
    fittingRouting(
      new Map([
        ['a', { ...own, layers: 9 }],
        ['b', own],
      ]),
      model,
      'r.json',
    ),
    own,
  );
  assert.throws(
    () => fittingRouting(new Map([['a', { ...own, layers: 9 }]]), model, 'r.json'),
    /r\.json: has no routing for 2 of 8 experts in 3 layers \(a: 2 of 8 experts in 9 layers\)$/,
  );
});

test.run();
