import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LESSONS } from '../../notebooks/lessons.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenSite, openSite, seriousFaults } from '../support/open-site.ts';
import { overlaps } from '../support/overlaps.ts';

const hasChromium = existsSync(CHROMIUM);
let site: OpenSite;
test.before(async () => {
  if (hasChromium) site = await openSite();
});
test.after(async () => {
  if (hasChromium) await site.close();
});

testIf(hasChromium, `no ${CHROMIUM}`, 'a label that lies over another one, or over a control, is found', async () => {
  const { page } = await site.open('what-a-token-costs');
  await page.locator('.numbers').first().waitFor();
  await page.evaluate(() => {
    for (const under of ['h1', 'main input[type=range]']) {
      const { left, top } = (document.querySelector(under) as Element).getBoundingClientRect();
      const label = document.createElement('b');
      label.textContent = 'over it';
      label.style.cssText = `position: absolute; left: ${left + scrollX}px; top: ${top + scrollY}px`;
      document.body.append(label);
    }
  });
  const found = (await overlaps(page)).join('; ');
  assert.match(found, '"What a token costs"');
  assert.match(found, '"range ');
  await page.context().close();
});

for (const { page: name } of LESSONS) {
  testIf(
    hasChromium,
    `no ${CHROMIUM}`,
    `${name}: opens without errors or foreign requests; nothing overflows or overlaps at any width, light and dark`,
    async () => {
      for (const width of [390, 1024, 1600]) {
        const { page, problems } = await site.open(name, { width });
        await page.locator('.numbers').first().waitFor();
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${width}: ${overflow} pixels too wide`);
        assert.equal(await overlaps(page), [], `${width}`);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          assert.equal(await seriousFaults(page), [], `${width}, ${colorScheme}`);
        }
        assert.equal(await problems(), [], `${width}`);
        await page.context().close();
      }
    },
  );

  testIf(hasChromium, `no ${CHROMIUM}`, `${name}: the first slider changes a number within half a second`, async () => {
    const { page, problems } = await site.open(name);
    const numbers = page.locator('main .numbers');
    await numbers.first().waitFor();
    const slider = page.locator('main input[type=range]').first();
    await slider.focus();
    for (const key of ['Home', 'End']) {
      const before = (await numbers.allTextContents()).join();
      await slider.press(key);
      await page.waitForFunction(
        (text) => Array.from(document.querySelectorAll('main .numbers'), (one) => one.textContent).join() !== text,
        before,
        { timeout: 500 },
      );
    }
    assert.equal(await problems(), []);
    await page.context().close();
  });

  testIf(hasChromium, `no ${CHROMIUM}`, `${name}: every exercise shows a computed answer and accepts it`, async () => {
    const { page } = await site.open(name);
    const exercises = page.locator('form.exercise');
    await exercises.first().waitFor();
    for (const exercise of await exercises.all()) {
      await exercise.getByRole('button', { name: 'Show the answer' }).click();
      const answer = Number.parseFloat((await exercise.locator('output').textContent()) ?? '');
      assert.ok(Number.isFinite(answer));
      await exercise.locator('input').fill(String(answer));
      await exercise.getByRole('button', { name: 'Check' }).click();
      assert.match((await exercise.locator('output').textContent()) ?? '', /^Yes: /);
      await exercise.locator('input').fill(String(3 * answer + 1));
      await exercise.getByRole('button', { name: 'Check' }).click();
      assert.match((await exercise.locator('output').textContent()) ?? '', /^Not yet/);
    }
    await page.context().close();
  });
}

test.run();
