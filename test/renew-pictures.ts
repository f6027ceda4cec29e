import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { FINGERPRINTS, fingerprintOf, PICTURES } from './support/pictures-of-docs.ts';

/**
 * Draws the pictures of README.md and docs/ anew in Chromium, and records what they show; a test holds them. Run by
 * `npm run renew:pictures [-- NAME…]`; a name is part of a file's.
 */
const names = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'hearth-pictures-'));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const fingerprints: Record<string, string> = JSON.parse(readFileSync(FINGERPRINTS, 'utf8'));
try {
  for (const picture of PICTURES.filter(
    ({ file }) => names.length === 0 || names.some((name) => file.includes(name)),
  )) {
    const out = join(folder, picture.script.replaceAll('/', '-'));
    fingerprints[picture.file] = await fingerprintOf(picture, out);
    const page = await browser.newPage({
      viewport: { width: picture.width, height: 900 },
      deviceScaleFactor: picture.width < 1000 ? 2 : 1.25,
    });
    await page.goto(`file://${join(out, 'report.html')}`);
    await page.waitForSelector('figure:last-of-type svg.main-svg');
    await page.evaluate((charts) => {
      const figures = Array.from(document.querySelectorAll('figure')).filter((figure) =>
        charts.some((begin) => figure.querySelector('figcaption')?.textContent?.startsWith(begin)),
      );
      for (const part of Array.from(document.querySelectorAll('.note, .choice, .saves'))) part.remove();
      const main = document.querySelector('main') as HTMLElement;
      main.style.padding = '4px 24px 0';
      main.replaceChildren(...figures);
    }, picture.charts);
    if (picture.type !== undefined)
      await page.evaluate(async (size) => {
        const plotly = (globalThis as unknown as { Plotly: { relayout(plot: Element, to: object): Promise<void> } })
          .Plotly;
        const plot = document.querySelector('.plot') as Element;
        await plotly.relayout(plot, { 'font.size': size, 'xaxis.title.font.size': size });
        (document.querySelector('figcaption') as HTMLElement).style.fontSize = `${size}px`;
      }, picture.type);
    // The pointer would bring the toolbar.
    await page.mouse.move(0, 0);
    await page.locator('main').screenshot({ path: picture.file });
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
writeFileSync(FINGERPRINTS, `${JSON.stringify(fingerprints, null, 2)}\n`);
