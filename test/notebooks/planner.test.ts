import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue } from '../../datasets/load.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createModel } from '../../engine/model/model.ts';
import { decodeModel, encodeModel } from '../../notebooks/planner/model-code.ts';
import { FIRST_STATE, readState, writeState } from '../../notebooks/planner/state.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenSite, openSite, resize, seriousFaults } from '../support/open-site.ts';
import { overlaps } from '../support/overlaps.ts';

const hasChromium = existsSync(CHROMIUM);
const REASON = `no ${CHROMIUM}`;
/** Milliseconds for what a thread of its own computes, on a busy machine. */
const COMPUTED = 60_000;
let site: OpenSite;
let folder = '';
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  if (hasChromium) site = await openSite();
});
test.after(async () => {
  rmSync(folder, { recursive: true });
  if (hasChromium) await site.close();
});

test('a state is read back unchanged from its address', () => {
  const state = {
    ...FIRST_STATE,
    cluster: 'mine.json',
    devices: ['Mac mini M4 16 GB', 'Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB'],
    link: 'Ethernet 1 Gbit/s',
    clusterText: '{"a":"1 & 2 #"}',
    models: ['a-_1', 'b'],
    model: 'Llama-3-8B',
    context: 4096,
  };
  assert.equal(readState(writeState(state)), state);
  assert.equal(readState('#mix=Q9&context=-1&prompt=x'), FIRST_STATE);
});

test('a model from a file is read back unchanged from its code; other texts are refused', async () => {
  const read = withFile(await madeFile({ folder, name: 'coded', shape: { architecture: 'qwen3' } }), readGguf);
  const other = createModel({ ...modelFromGguf(read), name: 'μ & Söhne' }, 'Q8_0');
  const large = loadCatalogue().find(({ shape }) => shape.name === 'Llama-3-70B');
  assert.ok(large);
  const models = [modelFromGguf(read), other, createModel(large.shape, 'Q4_K_M')];
  const codes = await Promise.all(models.map(encodeModel));
  assert.equal(await Promise.all(codes.map(decodeModel)), models);
  assert.match(codes.join(''), /^[\w-]+$/);
  assert.ok((codes[2] as string).length < 4000, `${codes[2]?.length}`);
  const [code = ''] = codes;
  const refused = async (text: string): Promise<boolean> =>
    decodeModel(text).then(
      () => false,
      (error) => error instanceof InputError,
    );
  for (const text of ['', '!', 'x', code.slice(0, -9), 'A'.repeat(40_000)])
    assert.ok(await refused(text), text.slice(0, 20));
});

testIf(
  hasChromium,
  REASON,
  'the planner opens without errors or foreign requests, and nothing overflows or overlaps',
  async () => {
    const { page, problems } = await site.open('index', { width: 390 });
    await page.getByRole('row', { name: /^TinyLlama.*desktop/ }).waitFor({ timeout: COMPUTED });
    for (const [width, colorScheme] of [
      [390, 'light'],
      [1024, 'dark'],
      [1600, 'light'],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await resize(page, width);
      assert.equal(await seriousFaults(page), [], `${width}, ${colorScheme}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${width}`);
      assert.equal(await overlaps(page), [], `${width}`);
      assert.equal(await problems(), []);
    }
    await page.context().close();
  },
);

testIf(
  hasChromium,
  REASON,
  'every model is predicted and simulated; another cluster changes the answers, and the address',
  async () => {
    const { page, problems } = await site.open('index');
    const row = page.locator('tr[data-model="Llama-3-70B"]');
    const filled = async (): Promise<string> => {
      await page.waitForFunction(
        () =>
          Array.from(document.querySelectorAll('.models tbody td'), (cell) => cell.textContent).every(
            (text) => text !== '…',
          ),
        undefined,
        { timeout: COMPUTED },
      );
      return (await row.textContent()) ?? '';
    };
    const home = await filled();
    assert.match(home, /in memory/);
    await page.getByLabel('Cluster').selectOption('prima-home');
    assert.match(page.url(), /cluster=prima-home/);
    assert.match(await filled(), /from disk/);
    assert.equal(await problems(), []);
    await page.context().close();
  },
);

testIf(
  hasChromium,
  REASON,
  'machines of the catalogue are put together, and their address shows the same',
  async () => {
    const { page, problems } = await site.open('index');
    const row = page.locator('tr[data-model="Llama-3-8B"]');
    const add = async (machine: string, gpu?: string): Promise<void> => {
      await page.getByLabel('Machine').selectOption(machine);
      if (gpu !== undefined) await page.getByLabel('Graphics card').selectOption(gpu);
      await page.getByRole('button', { name: 'Add this machine' }).click();
    };
    await add('Raspberry Pi 5 8 GB');
    await row.filter({ hasText: 'Raspberry Pi 5' }).waitFor({ timeout: COMPUTED });
    await page.getByLabel('Machine').selectOption('Raspberry Pi 5 8 GB');
    assert.ok(await page.getByLabel('Graphics card').isDisabled());
    await add('Desktop Ryzen 7 7700 32 GB', 'RTX 4090 24 GB');
    await row.filter({ hasText: 'Desktop Ryzen 7 7700 32 GB 0+32' }).waitFor({ timeout: COMPUTED });
    await page.getByLabel('Machine').selectOption('Mac mini M4 16 GB');
    assert.ok(await page.getByLabel('Graphics card').isDisabled());
    await page.reload();
    await row.filter({ hasText: 'Desktop Ryzen 7 7700 32 GB 0+32' }).waitFor({ timeout: COMPUTED });
    await page.getByRole('button', { name: /^Remove Desktop/ }).click();
    await row.filter({ hasText: /Raspberry Pi 5 8 GB 32/ }).waitFor({ timeout: COMPUTED });
    assert.equal(await problems(), []);
    await page.context().close();
  },
);

testIf(
  hasChromium,
  REASON,
  'a GGUF file is planned from its header, a cluster file is taken, and others are refused in a line',
  async () => {
    const model = await madeFile({ folder, name: 'dropped' });
    const { page, problems } = await site.open('index');
    await page.getByLabel('File', { exact: true }).setInputFiles(model);
    await page.locator('#detail h2').waitFor({ timeout: COMPUTED });
    assert.match(
      (await page.locator('#detail').textContent()) ?? '',
      /All weights stay in memory.*Without one device/s,
    );
    const detail = await page.locator('#detail table').first().textContent();
    await page.reload();
    await page.locator('#detail h2').waitFor({ timeout: COMPUTED });
    assert.is(await page.locator('#detail table').first().textContent(), detail);
    const cluster = readFileSync('datasets/clusters/four-small.json');
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'my.json', mimeType: 'application/json', buffer: cluster });
    await page.locator('#message', { hasText: 'my.json is read' }).waitFor();
    assert.match(page.url(), /file=/);
    await page.getByRole('button', { name: 'Add this machine' }).click();
    assert.match(page.url(), /device=MacBook/);
    await page.getByRole('button', { name: /^Remove MacBook/ }).click();
    assert.match(page.url(), /cluster=home-example/);
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{"devices":[]}') });
    await page.locator('#message', { hasText: /^x\.json/ }).waitFor();
    assert.equal(await problems(), []);
    await page.context().close();
  },
);

test.run();
