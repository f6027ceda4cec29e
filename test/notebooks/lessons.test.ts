import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LESSONS } from '../../notebooks/lessons.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenPage, type OpenSite, openSite, resize, seriousFaults } from '../support/open-site.ts';
import { overlaps } from '../support/overlaps.ts';

/** A phone, a tablet, a desktop: pixels. */
const WIDTHS = [390, 1024, 1600] as const;
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

testIf(hasChromium, `no ${CHROMIUM}`, 'an address that ends with #answers shows every answer', async () => {
  const { page } = await site.open('what-a-token-costs');
  await page.goto(`${page.url()}#answers`);
  await page.reload();
  const results = page.locator('form.exercise output');
  await results.first().waitFor();
  for (const text of await results.allTextContents()) assert.match(text, /^\d/);
  await page.context().close();
});

// One visit for all tests of a lesson: opening it takes seconds, giving it another width doesn't.
const visits = new Map<string, Promise<OpenPage>>();
const visit = (name: string): Promise<OpenPage> => {
  const begun = visits.get(name) ?? site.open(name, { width: WIDTHS[0] });
  visits.set(name, begun);
  return begun;
};

for (const [index, { page: name }] of LESSONS.entries()) {
  const visited = async (): Promise<OpenPage> => {
    const opened = await visit(name);
    await opened.page.locator('main .numbers').first().waitFor();
    return opened;
  };

  testIf(
    hasChromium,
    `no ${CHROMIUM}`,
    `${name}: opens without errors or foreign requests; nothing overflows or overlaps at any width, light and dark`,
    async () => {
      const { page, problems } = await visited();
      // The next one opens while this one is looked at, and is open when its turn comes.
      const next = LESSONS[index + 1];
      if (next !== undefined) visit(next.page).catch(() => undefined);
      for (const width of WIDTHS) {
        await resize(page, width);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${width}: ${overflow} pixels too wide`);
        assert.equal(await overlaps(page), [], `${width}`);
        assert.equal(await seriousFaults(page), [], `${width}`);
        assert.equal(await problems(), [], `${width}`);
      }
      // Colours differ in the dark, and nothing else does.
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.equal(await seriousFaults(page), [], 'dark');
    },
  );

  testIf(
    hasChromium,
    `no ${CHROMIUM}`,
    `${name}: the reader guesses before the sliders; every exercise shows a computed answer and accepts it`,
    async () => {
      const { page } = await visited();
      const guess = page.locator('form.guess');
      await guess.locator('input').fill('1');
      await guess.getByRole('button', { name: 'Guess' }).click();
      assert.match((await guess.locator('output').textContent()) ?? '', /^You guessed 1 .*; it is \d[\d.]* /);
      assert.is(await page.locator('footer .leads').count(), 1);
      assert.ok(
        (await page.locator('main > .opening:first-child > *').count()) > 0,
        'the lesson begins with a picture',
      );
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
    },
  );

  testIf(hasChromium, `no ${CHROMIUM}`, `${name}: the first slider changes a number within half a second`, async () => {
    const { page, problems } = await visited();
    const numbers = page.locator('main .numbers');
    const slider = page.locator('main input[type=range]').first();
    await slider.focus();
    const seconds: Record<'Home' | 'End', number[]> = { Home: [], End: [] };
    for (const key of ['Home', 'End', 'Home', 'End', 'Home', 'End'] as const) {
      const before = (await numbers.allTextContents()).join();
      const start = performance.now();
      await slider.press(key);
      await page.waitForFunction(
        (text) => Array.from(document.querySelectorAll('main .numbers'), (one) => one.textContent).join() !== text,
        before,
      );
      seconds[key].push((performance.now() - start) / 1000);
    }
    // Other processes of a busy machine delay single ones.
    for (const [key, all] of Object.entries(seconds)) assert.ok(Math.min(...all) < 0.5, `${key}: ${all.join(', ')} s`);
    assert.equal(await problems(), []);
    await page.context().close();
  });
}

test.run();
