import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Page as BrowserPage, chromium } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { barChart, lineChart } from '../../../../experiments/report/charts/chart.ts';
import { PALETTE } from '../../../../experiments/report/charts/colours.ts';
import { type Page, renderPage } from '../../../../experiments/report/page/page.ts';
import { testIf } from '../../../support/needs.ts';
import { TOOLBAR } from '../../../support/open-report.ts';
import { cutTexts, overlaps } from '../../../support/overlaps.ts';

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

test('a report without charts has escaped text and no plotting library', () => {
  const page = renderPage({ ...REPORT, sections: REPORT.sections.slice(1) });
  assert.match(page, '<h1>A &lt;b&gt;title&lt;/b&gt;</h1>');
  assert.match(page, '<p class="headline">What it says &amp; why.</p>');
  assert.not.match(page, 'plotly');
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

test('a long text takes the room of the empty cells after it', () => {
  const long = 'no plan, since none of the devices has room for it at all';
  const columns = ['model', 'layers', 'k'].map((title) => ({ title }));
  const table = {
    kind: 'table' as const,
    columns,
    rows: [
      ['a', long, ''],
      ['b', '1', ''],
    ],
  };
  const page = renderPage({ ...REPORT, sections: [{ title: 'Table', blocks: [table] }] });
  assert.match(page, `<tr><td>a</td><td colspan="2">${long}</td></tr>`);
  assert.match(page, '<tr><td>b</td><td>1</td><td></td></tr>');
});

test('sections of a report with several have links, and the page weighs less than 1.5 MB', () => {
  const page = renderPage({ ...REPORT, sections: [...REPORT.sections, { title: 'Last', blocks: [] }] });
  assert.match(page, '<li><a href="#section-3">Last</a></li>');
  assert.match(page, '<section id="section-3">\n<h2>Last</h2>');
  assert.not.match(renderPage(REPORT), '<nav');
  assert.ok(page.length < 1.0e6);
});

test('the finding and its picture come first, figures of findings next, and the rest of the summary below the charts', () => {
  const page = renderPage({
    ...REPORT,
    findings: ['1.56 tokens/s: Llama-3-70B.'],
    summary: ['One finds this. The rest is long.', 'And more.'],
    headline: 'One finds this.',
  });
  const order = [
    '<h1>',
    'One finds this.',
    'Choose one',
    '1.56',
    'what was run',
    'No choice',
    'And more.',
    'Some text.',
  ];
  const places = order.map((text) => page.indexOf(text, page.indexOf('<main>')));
  assert.equal(
    places,
    places.toSorted((one, other) => one - other),
  );
  assert.ok(places.every((place) => place > 0));
});

test('sections of one part are folded together, and many sections have a search', () => {
  const part = ['One', 'Two'].map((title) => ({ title, part: 'A paper', blocks: [] }));
  const page = renderPage({ ...REPORT, search: true, sections: [...REPORT.sections, ...part] });
  assert.match(
    page,
    /<details class="part"><summary>A paper<\/summary><section id="section-3">.*<section id="section-4">/s,
  );
  assert.match(page, 'id="search"');
});

interface OpenedPage {
  readonly page: BrowserPage;
  readonly file: string;
  readonly events: readonly string[];
}

/** A test on a report in a browser, as wide and as dark as wanted. */
function testPage(
  name: string,
  report: Page,
  settings: { readonly width?: number; readonly dark?: boolean },
  check: (opened: OpenedPage) => Promise<void>,
): void {
  testIf(existsSync(CHROMIUM), `no ${CHROMIUM}`, name, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'report-'));
    const file = join(folder, 'report.html');
    writeFileSync(file, renderPage(report));
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    try {
      const page = await browser.newPage({
        viewport: { width: settings.width ?? 1200, height: 900 },
        colorScheme: settings.dark === true ? 'dark' : 'light',
      });
      const events: string[] = [];
      page.on('pageerror', (error) => events.push(`error ${error}`));
      page.on('console', (message) => events.push(`console ${message.text()}`));
      page.on('request', (request) => request.url().startsWith('blob:') || events.push(`request ${request.url()}`));
      await page.goto(`file://${file}`);
      await check({ page, file, events });
      assert.equal(events, [`request file://${file}`]);
    } finally {
      await browser.close();
      rmSync(folder, { recursive: true });
    }
  });
}

testPage('a browser draws every chart, and asks nobody for anything', REPORT, {}, async ({ page }) => {
  await page.waitForSelector('figure:last-of-type svg.main-svg');
  const drawn = (): Promise<string[]> =>
    page
      .locator('figure')
      .evaluateAll((all) =>
        all.map((one) => (one.querySelector('svg .bars') ? 'bars' : one.querySelector('svg .scatter') ? 'lines' : '')),
      );
  assert.equal(await drawn(), ['lines', 'bars']);
  await page.locator('select').selectOption('bars');
  await page.waitForSelector('figure:first-of-type svg .bars');
  assert.equal(await drawn(), ['bars', 'bars']);
});

testPage(
  'a chart is saved as SVG and PNG, named after it and its variant',
  REPORT,
  { dark: true },
  async ({ page }) => {
    await page.waitForSelector('figure:first-of-type svg.main-svg');
    await page.locator('select').selectOption('bars');
    for (const [format, begin] of [
      ['SVG', '<svg'],
      ['PNG', '\u0089PNG'],
    ] as const) {
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: `Save Choose one as ${format}` }).click();
      const download = await saved;
      assert.is(download.suggestedFilename(), `choose-one-bars.${format.toLowerCase()}`);
      const text = readFileSync((await download.path()) ?? '', 'latin1');
      assert.ok(text.startsWith(begin), text.slice(0, 20));
      // As on paper, though the page is dark.
      if (format === 'SVG') assert.match(text, 'rgb(255, 255, 255)');
    }
  },
);

/** Eight lines with long names, so that a legend next to them leaves a phone no room for the chart. */
const CROWDED: Page = {
  ...REPORT,
  sections: [
    {
      title: 'Chart',
      blocks: [
        {
          kind: 'chart',
          title: 'Eight lines',
          variants: [
            {
              label: 'lines',
              figure: lineChart({
                x: { title: 'x' },
                y: { title: 'y' },
                series: PALETTE.map((colour, index) => ({
                  name: `a scheduler with a long name, ${index}`,
                  colour,
                  x: [1, 2],
                  y: [index, 1],
                })),
              }),
            },
          ],
        },
      ],
    },
  ],
};

testPage('a legend stands below its chart on a narrow screen', CROWDED, { width: 390 }, async ({ page }) => {
  await page.waitForSelector('figure svg .legend');
  const [plot, legend] = [
    await page.locator('figure svg .plotbg, figure svg .nsewdrag').first().boundingBox(),
    await page.locator('figure svg .legend').boundingBox(),
  ];
  assert.ok((plot?.width ?? 0) > 250, `${plot?.width} pixels for the chart`);
  assert.ok((legend?.y ?? 0) > (plot?.y ?? 0) + (plot?.height ?? 0));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});

const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8];
const LONG: Page = {
  ...CROWDED,
  sections: [true, false].map((horizontal) => ({
    title: 'Chart',
    blocks: [
      {
        kind: 'chart',
        title: 'Bars',
        variants: [
          {
            label: 'bars',
            figure: barChart({
              horizontal,
              categories: NUMBERS.map((n) =>
                horizontal ? `Table ${n}, Qwen-2.5-32B and QwQ-32B, prima.cpp` : `Qwen3-4B<br>helm-${n}`,
              ),
              categoryTitle: '',
              value: { title: 'time of an output token in seconds, as published' },
              arrange: 'stack',
              totals: NUMBERS.map((n) => `${n}00 ms`),
              series: [{ name: 'time', colour: '#0072b2', values: NUMBERS }],
            }),
          },
        ],
      },
    ],
  })),
};

const REASONS: Page = {
  ...REPORT,
  sections: [
    {
      title: 'Table',
      blocks: [
        {
          kind: 'table',
          columns: [
            { title: 'model', label: true },
            { title: 'reason' },
            ...NUMBERS.map((n) => ({ title: `time ${n}`, align: 'right' as const })),
          ],
          rows: [
            [
              'Qwen3-14B BF16, 27.5 GiB',
              'its KV cache takes more than is left after weights',
              ...NUMBERS.map(() => '1.05 s'),
            ],
          ],
        },
      ],
    },
  ],
};

testPage('a text in a wide table is not squeezed to a word a line', REASONS, { width: 390 }, async ({ page }) => {
  const row = await page.locator('tbody tr').boundingBox();
  assert.ok((row?.height ?? 0) < 80, `${row?.height} pixels for a row`);
});

testPage('no text of a chart is cut on a narrow screen', LONG, { width: 390 }, async ({ page }) => {
  await page.waitForSelector('figure >> nth=1 >> svg .ytitle');
  assert.equal(await cutTexts(page), []);
});

const [EIGHT] = CROWDED.sections;
const NAMES = NUMBERS.map((n) => `Qwen3-14B<br>helm-l40s-${n}`);
const { data, layout } = lineChart({
  x: { title: 'model and machine', categories: NAMES },
  y: { title: 'time' },
  series: [{ name: 'time', colour: '#0072b2', x: NAMES, y: NUMBERS }],
});
const flat = { data, layout: { ...layout, xaxis: { ...layout.xaxis, tickangle: 0 } } };
const scale = {
  data: [
    {
      type: 'heatmap' as const,
      z: [[1, 2]],
      colorbar: { title: { text: 'least TPOT<br>(s per token)' }, thickness: 14 },
    },
  ],
  layout: { ...layout, height: 480, xaxis: {}, yaxis: {} },
};
const TABLET: Page = {
  ...CROWDED,
  sections: [
    ...(EIGHT === undefined ? [] : [EIGHT]),
    {
      title: 'Labels',
      blocks: [
        { kind: 'chart', title: 'Flat', variants: [{ label: '', figure: flat }] },
        { kind: 'chart', title: 'Scale', variants: [{ label: '', figure: scale }] },
      ],
    },
  ],
};

testPage(
  'a tablet’s charts are wide, turned as well, and labels of their columns don’t overlap',
  TABLET,
  { width: 768 },
  async ({ page }) => {
    await page.waitForSelector('figure >> nth=2 >> svg .cbtitle');
    const plot = await page.locator('figure svg .nsewdrag').first().boundingBox();
    assert.ok((plot?.width ?? 0) > 500, `${plot?.width} pixels for the chart`);
    assert.equal(await overlaps(page), []);
    assert.equal(await cutTexts(page), []);
    // Turned, it has room for a scale next to its chart, which takes the rest of the width.
    await page.setViewportSize({ width: 1024, height: 768 });
    await page.waitForFunction(() => {
      const figure = document.querySelectorAll('figure')[2];
      const [drawn, bar] = ['.nsewdrag', '.colorbar'].map((part) =>
        figure?.querySelector(part)?.getBoundingClientRect(),
      );
      return drawn !== undefined && bar !== undefined && drawn.width > 700 && bar.left > drawn.right;
    });
  },
);

testPage('the toolbar stands next to neither legend nor chart', CROWDED, {}, async ({ page }) => {
  await page.waitForSelector('figure svg .legend');
  await page.hover('.plot');
  const titles = await page
    .locator('.modebar-btn')
    .evaluateAll((all) => all.map((one) => one.getAttribute('data-title')));
  assert.equal(titles, TOOLBAR);
  const [toolbar, legend] = [
    await page.locator('.modebar-container .modebar').boundingBox(),
    await page.locator('figure svg .legend').boundingBox(),
  ];
  assert.ok((toolbar?.y ?? 0) + (toolbar?.height ?? 0) <= (legend?.y ?? 0));
});

testPage('a dark system has dark pages and charts', CROWDED, { dark: true }, async ({ page }) => {
  await page.waitForSelector('figure svg .legend');
  const colours = await page.evaluate(() => [
    getComputedStyle(document.querySelector('main') as Element).backgroundColor,
    getComputedStyle(document.querySelector('figure svg.main-svg') as Element).backgroundColor,
    getComputedStyle(document.querySelector('figure svg .legendtext') as Element).fill,
  ]);
  assert.equal(colours, ['rgb(22, 25, 29)', 'rgb(22, 25, 29)', 'rgb(228, 231, 235)']);
});

const TIMES: Page = {
  ...REPORT,
  sections: [
    {
      title: 'Times',
      blocks: [
        {
          kind: 'table',
          columns: [{ title: 'model' }, { title: 'time', align: 'right' }],
          rows: [
            ['a', '1.05 s'],
            ['a', '640 ms'],
            ['b', '–'],
            ['b', '12.5 ms'],
          ],
          groups: true,
        },
      ],
    },
  ],
};

testPage('a table is sorted by a column, by mouse and by keyboard', TIMES, {}, async ({ page }) => {
  const rows = async (): Promise<string[]> =>
    page.locator('tbody tr').evaluateAll((all) =>
      all.map((row) => {
        const [group, time] = Array.from((row as HTMLTableRowElement).cells);
        return `${group?.textContent || group?.dataset.repeats || ''} ${time?.textContent?.replace(/\s/, ' ')}`;
      }),
    );
  const asWritten = ['a 1.05 s', ' 640 ms', 'b –', ' 12.5 ms'];
  assert.equal(await rows(), asWritten);
  const title = page.getByRole('columnheader', { name: 'time' });
  await title.click();
  assert.equal(await rows(), ['b 12.5 ms', 'a 640 ms', 'a 1.05 s', 'b –']);
  await title.focus();
  await page.keyboard.press('Enter');
  assert.equal(await rows(), ['a 1.05 s', 'a 640 ms', 'b 12.5 ms', 'b –']);
  await page.keyboard.press('Enter');
  assert.equal(await rows(), asWritten);
});

const FOUND: Page = {
  ...TIMES,
  search: true,
  sections: [
    { title: 'Other', part: 'A paper', blocks: [{ kind: 'table', columns: [{ title: 'x' }], rows: [['y']] }] },
    { title: 'More', part: 'A paper', blocks: [] },
    ...TIMES.sections.map((section) => ({
      ...section,
      blocks: section.blocks.map((block) =>
        block.kind === 'table' ? { ...block, columns: [{ title: 'model', filter: true }, { title: 'time' }] } : block,
      ),
    })),
  ],
};

testPage('rows are filtered by a column, and searched in all tables and folded parts', FOUND, {}, async ({ page }) => {
  const rows = (): Promise<string[]> =>
    page.locator('tbody tr:visible').evaluateAll((all) => all.map((row) => row.textContent?.replace(/\s/, ' ') ?? ''));
  await page.getByLabel('model').selectOption('b');
  assert.equal(await rows(), ['b–', '12.5 ms']);
  await page.getByLabel('model').selectOption('');
  await page.getByLabel('Search').fill('paper y');
  assert.equal(await rows(), ['y']);
  assert.is(await page.locator('#found').textContent(), '1 row');
  await page.getByLabel('Search').fill('b 12.5');
  assert.equal(await rows(), ['12.5 ms']);
});

test.run();
