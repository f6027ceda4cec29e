import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { barChart, lineChart } from '../../../../experiments/report/charts/chart.ts';
import { type Page, renderPage } from '../../../../experiments/report/page/page.ts';
import { testIf } from '../../../support/needs.ts';

const CHROMIUM = '/usr/bin/chromium';

const BARS = barChart({
  categories: ['a</script>', 'b'],
  categoryTitle: 'model',
  value: { title: 'layers' },
  arrange: 'stack',
  series: [{ name: 'D1', colour: '#0072b2', values: [1, 2], hatched: true }],
});
const LINES = lineChart({
  x: { title: 'x', categories: ['a', 'b'] },
  y: { title: 'TPOT (ms)', scale: 'log' },
  series: [{ name: 'line', colour: '#0072b2', x: ['a', 'b'], y: [1, null] }],
});

const REPORT: Page = {
  title: 'A <b>title</b>',
  subtitle: 'what was run',
  summary: 'What it says & why.',
  sections: [
    {
      title: 'Charts',
      blocks: [
        {
          kind: 'chart',
          title: 'Choose one',
          choose: 'Which',
          variants: [
            { label: 'lines', figure: LINES },
            { label: 'bars', figure: BARS },
          ],
        },
        { kind: 'chart', title: 'No choice', variants: [{ label: 'bars', figure: BARS }] },
      ],
    },
    {
      title: 'Table',
      blocks: [
        { kind: 'text', text: 'Some text.' },
        {
          kind: 'table',
          columns: [
            { title: 'model', label: true },
            { title: 'ms', align: 'right' },
          ],
          rows: [
            ['a', '1'],
            ['a', '2'],
            ['b', '3'],
          ],
          groups: true,
          fold: 'All rows',
        },
      ],
    },
  ],
};

test('a report without charts has escaped text and no script', () => {
  const page = renderPage({ ...REPORT, sections: REPORT.sections.slice(1) });
  assert.match(page, '<h1>A &lt;b&gt;title&lt;/b&gt;</h1>');
  assert.match(page, '<div class="summary"><p>What it says &amp; why.</p></div>');
  assert.not.match(page, '<script');
});

test('a group is named in its first row, and a rule separates groups', () => {
  const body = /<tbody>(.*)<\/tbody>/s.exec(renderPage(REPORT))?.[1];
  assert.is(
    body,
    [
      '<tr><td class="label">a</td><td class="right">1</td></tr>',
      '<tr><td class="label"></td><td class="right">2</td></tr>',
      '<tr class="group"><td class="label">b</td><td class="right">3</td></tr>',
    ].join('\n'),
  );
});

testIf(
  existsSync(CHROMIUM),
  `no ${CHROMIUM}`,
  'a browser draws every chart, and asks nobody for anything',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'report-'));
    const file = join(folder, 'report.html');
    writeFileSync(file, renderPage(REPORT));
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    try {
      const page = await browser.newPage();
      const events: string[] = [];
      page.on('pageerror', (error) => events.push(`error ${error}`));
      page.on('console', (message) => events.push(`console ${message.text()}`));
      page.on('request', (request) => events.push(`request ${request.url()}`));
      await page.goto(`file://${file}`);
      await page.waitForSelector('figure:last-of-type svg.main-svg');
      const drawn = (): Promise<string[]> =>
        page
          .locator('figure')
          .evaluateAll((all) =>
            all.map((one) =>
              one.querySelector('svg .bars') ? 'bars' : one.querySelector('svg .scatter') ? 'lines' : '',
            ),
          );
      assert.equal(await drawn(), ['lines', 'bars']);
      await page.locator('select').selectOption('bars');
      await page.waitForSelector('figure:first-of-type svg .bars');
      assert.equal(await drawn(), ['bars', 'bars']);
      assert.equal(events, [`request file://${file}`]);
    } finally {
      await browser.close();
      rmSync(folder, { recursive: true });
    }
  },
);

test.run();
