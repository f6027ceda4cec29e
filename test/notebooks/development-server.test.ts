import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, type OpenSite, openDevelopmentSite } from '../support/open-site.ts';

/** Lessons that differ in what they load: plain cells, and a model that runs in a worker. All of them take minutes. */
const VISITED = ['what-a-token-costs', 'a-model-in-the-page'] as const;
const hasChromium = existsSync(CHROMIUM);
let site: OpenSite;
test.before(async () => {
  if (hasChromium) site = await openDevelopmentSite();
});
test.after(async () => {
  if (hasChromium) await site.close();
});

testIf(
  hasChromium,
  `no ${CHROMIUM}`,
  'the development server shows lessons without a network, errors or requests to others',
  async () => {
    // The first visit finds out which dependencies to bundle, after which the page is loaded again.
    for (const name of VISITED) await (await site.open(name)).page.context().close();
    for (const name of VISITED) {
      const { page, problems } = await site.open(name);
      await page.locator('main .numbers').first().waitFor({ timeout: 60_000 });
      assert.ok((await page.locator('input[type=range]').count()) > 0, name);
      assert.equal(await problems(), [], name);
      await page.context().close();
    }
  },
);

test.run();
