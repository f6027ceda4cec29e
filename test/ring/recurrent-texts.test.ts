import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createRingTexts, type RingText } from '../../engine/ring/head/ring-texts.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { nmse } from '../runtime/nmse.ts';
import { goldenArchitecture, goldenArchitecturePath } from '../support/golden-architectures.ts';
import { headHere, recoveringHere, SETTINGS, workerHere } from './ring-in-process.ts';

const NAME = 'lfm2-F16';
const CONTEXT = 64;

test('recurrent texts that go back, and those that follow others, keep clear of the states of the rest', async () => {
  const path = goldenArchitecturePath(NAME);
  const { tokens } = goldenArchitecture(NAME);
  const kernels = openKernels({ threads: 1 });
  const open = () => loadTransformer(path, { kernels, context: CONTEXT, kvCache: 'F32' });
  const { worker, member } = await workerHere('a', path, { headKeys: undefined });
  // Devices have states of two texts.
  const here = headHere(path, [member], { settings: { ...SETTINGS, context: CONTEXT, pageTokens: 16, requests: 2 } });
  await here.head.gather();
  const ring = recoveringHere(here, open().model.layers);
  const size = { contextLength: CONTEXT, pages: 8, pageTokens: 16, isRecurrent: true };
  const texts = createRingTexts(ring, size);
  const histories = new Map<RingText, number[]>();
  const pass = async (...work: readonly (readonly [RingText, readonly number[]])[]): Promise<void> => {
    const found = await texts.evaluate(
      work.map(([text, own]) => ({ text, tokens: own, rows: 1, multiplied: undefined })),
    );
    for (const [index, [text, own]] of work.entries()) {
      const history = [...(histories.get(text) ?? []).slice(0, text.position - own.length), ...own];
      histories.set(text, history);
      // Passes of other lengths round otherwise; another text's states differ by 0.1 and more.
      assert.ok(nmse(found[index] as Float32Array, open().evaluate(history)) < 2e-3);
    }
  };
  const [one, other] = [texts.open(), texts.open()];
  await pass([one, tokens.slice(0, 9)]);
  await pass([other, tokens.slice(20, 31)]);
  other.rewind(5);
  await pass([other, [7]]);
  await pass([one, [9]]);
  one.rewind(0);
  await pass([other, [8]], [one, [3, 4]]);
  other.close();
  await pass([one, [6]]);
  const third = texts.open();
  await pass([third, tokens.slice(40, 60)], [one, [5]]);
  await pass([one, [2]], [third, [1]]);
  await here.head.close();
  await worker.close();
  kernels.close();
});

test.run();
