import { existsSync } from 'node:fs';
import { chromium, type Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { checkFirstScreen } from './first-screen.ts';
import { testIf } from './needs.ts';

const CHROMIUM = '/usr/bin/chromium';

/**
 * A test that opens a report in headless Chromium and checks the number of charts, that all are drawn, and that the
 * console has no errors, and that the first screen is a sentence, its picture and short findings. Skipped without Chromium.
 */
export function testReport(
  file: () => string,
  charts: number,
  check: (page: Page) => Promise<void> = async () => {},
): void {
  testIf(existsSync(CHROMIUM), `no ${CHROMIUM}`, 'the report opens without errors, every chart drawn', async () => {
    checkFirstScreen(file());
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    try {
      const page = await browser.newPage();
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      const foreign: string[] = [];
      page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || foreign.push(request.url()));
      await page.goto(`file://${file()}`);
      for (let index = 0; index < charts; index++) {
        await page.waitForSelector(`figure >> nth=${index} >> svg .trace path >> nth=0`, { state: 'attached' });
      }
      assert.is(await page.locator('figure').count(), charts);
      assert.equal(
        strangers(
          await page
            .locator('.modebar-btn')
            .evaluateAll((all) => all.map((one) => one.getAttribute('data-title') ?? '')),
        ),
        [],
      );
      await check(page);
      assert.equal(foreign, []);
      assert.equal(errors, []);
    } finally {
      await browser.close();
    }
  });
}

/** The toolbar of charts: what a reader can do with a chart in the page. */
export const TOOLBAR: readonly string[] = ['Zoom', 'Pan', 'Zoom in', 'Zoom out', 'Autoscale', 'Reset axes'];

/** Titles of buttons that no chart should have. */
function strangers(titles: readonly string[]): string[] {
  return titles.filter((title) => !TOOLBAR.includes(title));
}
