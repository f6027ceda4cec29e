import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { FINGERPRINTS, fingerprintOf, PICTURES } from './support/pictures-of-docs.ts';

/**
 * Draws the pictures of README.md and docs/ anew in Chromium, and records what they show; a test holds them. Run by
 * `npm run renew:pictures`.
 */
const folder = mkdtempSync(join(tmpdir(), 'hearth-pictures-'));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const fingerprints: Record<string, string> = {};
try {
  for (const picture of PICTURES) {
    const out = join(folder, picture.script.replaceAll('/', '-'));
    fingerprints[picture.file] = await fingerprintOf(picture, out);
    const page = await browser.newPage({ viewport: { width: picture.width, height: 900 }, deviceScaleFactor: 1.25 });
    await page.goto(`file://${join(out, 'report.html')}`);
    await page.waitForSelector('figure:last-of-type svg.main-svg');
    await page.evaluate((charts) => {
      const figures = Array.from(document.querySelectorAll('figure')).filter((figure) =>
        charts.some((begin) => figure.querySelector('figcaption')?.textContent?.startsWith(begin)),
      );
      for (const part of Array.from(document.querySelectorAll('.note, .choice'))) part.remove();
      const main = document.querySelector('main') as HTMLElement;
      main.style.padding = '4px 24px 0';
      main.replaceChildren(...figures);
    }, picture.charts);
    // The pointer would bring the toolbar.
    await page.mouse.move(0, 0);
    await page.locator('main').screenshot({ path: picture.file });
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
writeFileSync(FINGERPRINTS, `${JSON.stringify(fingerprints, null, 2)}\n`);
