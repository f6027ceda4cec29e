import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { predict } from '../../engine/cost/predict.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { assign } from '../../notebooks/who-gets-which-layers/assignments.ts';
import { clusterOf, defaultDevice, homeDevices, namesOf } from '../../notebooks/who-gets-which-layers/devices.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenSite, openSite } from '../support/open-site.ts';

const home = loadCluster('prima-home');
const model = createNamedModel(loadCatalogue(), 'Llama-1-30B:Q4_K_M');
const solver = await loadIntegerSolver();
test.after(() => solver.dispose());

const hasChromium = existsSync(CHROMIUM);
let site: OpenSite;
test.before(async () => {
  if (hasChromium) site = await openSite();
});
test.after(async () => {
  if (hasChromium) await site.close();
});

test('the reader’s first cluster is prima.cpp’s home cluster', () => {
  const own = clusterOf(home, homeDevices(home));
  assert.equal(
    own.devices.map(({ name, os }) => `${name}, ${os}`),
    ['PC, linux', 'phone, linux', 'Mac, macos', 'laptop, linux'],
  );
  for (const [index, device] of own.devices.entries())
    assert.ok(Math.abs(device.memory.available / (home.devices[index]?.memory.available ?? 0) - 1) < 0.03);
});

test('devices of one kind are numbered', () => {
  const [laptop, phone] = [defaultDevice(home, 'laptop'), defaultDevice(home, 'phone')];
  assert.equal(namesOf([laptop, phone, laptop]), ['laptop 1', 'phone', 'laptop 2']);
});

test('the way from Halda’s plan to the optimum begins with the one and ends with the other', () => {
  const large = createNamedModel(loadCatalogue(), 'Llama-3-70B:Q4_K_M');
  const { assignments, path, steps, curves } = assign(clusterOf(home, homeDevices(home)), large, solver);
  const [printed, repaired, exact] = assignments;
  assert.ok((printed?.tokenSeconds ?? 0) > 1.1 * (exact?.tokenSeconds ?? 0));
  assert.ok((repaired?.tokenSeconds ?? 0) < 1.01 * (exact?.tokenSeconds ?? 0));
  assert.is(path[0]?.tokenSeconds, printed?.tokenSeconds);
  assert.is(path.at(-1)?.tokenSeconds, exact?.tokenSeconds);
  for (const { shares } of path)
    assert.is(
      shares.reduce((sum, { layers }) => sum + layers, 0),
      large.layers,
    );
  // As the lesson says: every step improves the plan, and phone and Mac are guessed overloaded to the end.
  for (const [step, { tokenSeconds }] of path.entries())
    if (step > 0) assert.ok(tokenSeconds < (path[step - 1]?.tokenSeconds ?? 0));
  const last = steps.halda.at(-1);
  for (const name of ['phone', 'Mac']) {
    const at = last?.devices.indexOf(name) as number;
    assert.is.not(last?.sets[at], 'M4');
    // The last of its layers, which doesn't fit, takes several times what the one before takes.
    const layers = printed?.shares[at]?.layers as number;
    assert.is(layers, (exact?.shares[at]?.layers as number) + 1);
    const [fewer = 0, held = 0, over = 0] = [-2, -1, 0].map((more) => curves[at]?.[layers + more] as number);
    assert.ok(over - held > 5 * (held - fewer), name);
  }
});

test('the curves of devices and the hops between them make the optimum', () => {
  const belief = clusterOf(home, homeDevices(home));
  const { curves, assignments } = assign(belief, model, solver);
  const workload = createWorkload({ context: 1024 });
  const { plan } = optimal({ belief, model, workload });
  if (plan === undefined) throw new Error('no plan');
  const { devices } = predict({ plan, truth: belief, model, workload, reclaim: 'overflow' });
  const chosen = assignments[2]?.shares ?? [];
  const onDevices = chosen.reduce((sum, { layers }, index) => sum + (curves[index]?.[layers] ?? 0), 0);
  const tokenSeconds = assignments[2]?.tokenSeconds ?? 0;
  assert.is(devices.length, 2);
  assert.ok(onDevices < tokenSeconds && tokenSeconds - onDevices < 0.015, 'two hops of 5 to 6 ms');
});

test('a single device has one curve and no way to go', () => {
  const { path, assignments } = assign(clusterOf(home, [defaultDevice(home, 'phone')]), model, solver);
  assert.is(path.length, 1);
  assert.is(assignments[0]?.tokenSeconds, assignments[2]?.tokenSeconds);
});

testIf(hasChromium, `no ${CHROMIUM}`, 'devices are added, removed, dragged, and moved by keyboard', async () => {
  const { page, problems } = await site.open('who-gets-which-layers');
  const names = page.locator('.devices strong');
  const numbers = page.locator('main .numbers').first();
  await numbers.waitFor();
  const changes = async (act: () => Promise<void>): Promise<void> => {
    const before = await numbers.textContent();
    await act();
    await page.waitForFunction((text) => document.querySelector('main .numbers')?.textContent !== text, before, {
      timeout: 5000,
    });
  };
  await changes(() => page.getByRole('button', { name: 'Remove laptop' }).click());
  assert.equal(await names.allTextContents(), ['PC', 'phone', 'Mac']);
  await changes(() => page.getByRole('button', { name: 'Add a PC' }).click());
  assert.equal(await names.allTextContents(), ['PC 1', 'phone', 'Mac', 'PC 2']);
  await page.getByRole('button', { name: 'phone: earlier in the ring' }).focus();
  await changes(() => page.keyboard.press('Enter'));
  assert.equal(await names.allTextContents(), ['phone', 'PC 1', 'Mac', 'PC 2']);
  await page
    .locator('.devices .name')
    .nth(1)
    .dragTo(page.locator('.devices li').nth(0), { sourcePosition: { x: 5, y: 5 } });
  assert.equal(await names.allTextContents(), ['PC 1', 'phone', 'Mac', 'PC 2']);
  assert.equal(await problems(), []);
  await page.context().close();
});

test.run();
