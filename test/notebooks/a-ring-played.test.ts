import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { playRing, type RingSetting } from '../../notebooks/a-ring-played/ring.ts';
import { edgesOf, explain, layOut } from '../../notebooks/lib/timeline-rows.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenSite, openSite } from '../support/open-site.ts';

const hasChromium = existsSync(CHROMIUM);
let site: OpenSite;
test.before(async () => {
  if (hasChromium) site = await openSite();
});
test.after(async () => {
  if (hasChromium) await site.close();
});

const SETTING: RingSetting = {
  slowest: 0.5,
  room: 3.5,
  plan: '4 rounds of 2, 2, 2, 2',
  loading: 'prefetch the next window',
};

test('a slow disk delays a ring of equal windows, and half of that one of windows to match', () => {
  const equal = playRing(SETTING);
  const matched = playRing({ ...SETTING, plan: '4 rounds of 3, 2, 2, 1' });
  assert.equal(Number(equal.tokenSeconds.toFixed(2)), 2.17);
  assert.equal(Number(matched.tokenSeconds.toFixed(2)), 1.1);
  assert.ok(playRing({ ...SETTING, slowest: 4 }).stallSeconds < 1e-6);
});

test('a window that does not fit is read twice', () => {
  const fits = playRing({ ...SETTING, plan: '1 round of 8, 8, 8, 8', room: 9 });
  const long = playRing({ ...SETTING, plan: '1 round of 8, 8, 8, 8' });
  assert.ok(fits.readBytes < 1e3);
  assert.equal(Math.round((10 * long.readBytes) / 4.3e9), 20);
});

test('every place of a timeline is explained by what happens there', () => {
  const laid = layOut(playRing(SETTING).trace);
  const rowOf = (device: string, lane: string): number =>
    laid.rows.findIndex((row) => row.device === device && row.lane === lane);
  assert.match(explain(laid, { row: rowOf('PC', 'cpu'), time: 0.001 }), /^PC, .*computes layer 0/);
  assert.match(explain(laid, { row: rowOf('laptop', 'cpu'), time: 0.001 }), /a bubble.*the token is on PC/);
  assert.match(explain(laid, { row: rowOf('phone', 'cpu'), time: 0.2 }), /waits for layer 6.*the whole ring waits/);
  assert.match(explain(laid, { row: rowOf('phone', 'disk'), time: 0.2 }), /reads ahead.*not hidden/);
  assert.match(explain(laid, { row: rowOf('PC', 'disk'), time: 0.1 }), /reads ahead.*This reading is hidden/);
  assert.match(explain(laid, { row: rowOf('PC', 'memory'), time: 0.1 }), /of weights are in memory/);
  for (const [row] of laid.rows.entries()) {
    const edges = edgesOf(laid, row);
    assert.ok(edges.every((edge, index) => index === 0 || edge > (edges[index - 1] as number)));
  }
});

testIf(hasChromium, `no ${CHROMIUM}`, 'the timeline is read by pointing and by keyboard, and played', async () => {
  const { page, problems } = await site.open('a-ring-played');
  const rows = page.locator('.timeline-rows');
  await rows.waitFor();
  const told = page.locator('.timeline .told');
  await rows.focus();
  await page.keyboard.press('ArrowRight');
  assert.match((await told.textContent()) ?? '', /^PC, .*bubble/);
  await page.keyboard.press('ArrowDown');
  assert.match((await told.textContent()) ?? '', /^PC, .*disk/);
  const clock = page.locator('.player output');
  await page.keyboard.press('Enter');
  assert.not.match((await clock.textContent()) ?? '', /^0 ms/);
  const box = await rows.locator(':scope svg').last().boundingBox();
  await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2);
  assert.match((await told.textContent()) ?? '', /^(laptop|Mac|phone), /);
  const at = await clock.textContent();
  await page.getByRole('button', { name: 'On to the next event' }).click();
  assert.is.not(await clock.textContent(), at);
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.waitForFunction(
    (text) => document.querySelector('.player output')?.textContent !== text,
    await clock.textContent(),
  );
  assert.equal(await problems(), []);
  await page.context().close();
});

test.run();
