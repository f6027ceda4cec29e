import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LESSONS } from '../../notebooks/lessons.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenSite, openSite, seriousFaults } from '../support/open-site.ts';

const hasChromium = existsSync(CHROMIUM);
let site: OpenSite;
test.before(async () => {
  if (hasChromium) site = await openSite();
});
test.after(async () => {
  if (hasChromium) await site.close();
});

for (const { page: name } of LESSONS) {
  testIf(
    hasChromium,
    `no ${CHROMIUM}`,
    `${name}: opens without errors or foreign requests, light and dark`,
    async () => {
      for (const scheme of ['light', 'dark'] as const) {
        const { page, problems } = await site.open(name, { scheme });
        await page.locator('.numbers').first().waitFor();
        assert.equal(await seriousFaults(page), [], scheme);
        assert.equal(await problems(), [], scheme);
        await page.context().close();
      }
    },
  );

  testIf(hasChromium, `no ${CHROMIUM}`, `${name}: nothing overflows at 390, 1024 and 1600 pixels`, async () => {
    for (const width of [390, 1024, 1600]) {
      const { page } = await site.open(name, { width });
      await page.locator('.numbers').first().waitFor();
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${width}: ${overflow} pixels too wide`);
      await page.context().close();
    }
  });

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
