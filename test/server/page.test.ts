import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RingState } from '../../engine/server/ring-state.ts';
import { testIf } from '../support/needs.ts';
import { CHROMIUM, seriousFaults } from '../support/open-site.ts';
import { alphabetServer } from './alphabet.ts';

const KEY = 'the-key-of-this-server';

let browser: Browser | undefined;
test.after(() => browser?.close());

async function started(): Promise<Browser> {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  return browser;
}

/** Opens the page of a server, and collects what goes wrong on it. */
async function withPage(
  url: string,
  scheme: 'light' | 'dark',
  check: (page: Page) => Promise<void>,
): Promise<string[]> {
  const context = await (await started()).newContext({
    viewport: { width: 360, height: 640 },
    colorScheme: scheme,
    bypassCSP: false,
  });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => !/^(data:|http:\/\/127)/.test(request.url()) && problems.push(request.url()));
  await page.goto(url);
  await check(page);
  await context.close();
  return problems;
}

testIf(existsSync(CHROMIUM), `no ${CHROMIUM}`, 'the page chats, stops, and fits a narrow screen', async () => {
  const server = await alphabetServer({ milliseconds: 10 });
  const problems = await withPage(server.url, 'dark', async (page) => {
    await page.fill('#text', 'Hello');
    await page.press('#text', 'Enter');
    await page.waitForSelector('article.assistant:not(.busy)');
    assert.match(
      (await page.textContent('article.assistant')) ?? '',
      /^abcdefghijklmnopqrstuvwxyz\d+ \+ 27 tokens, ended$/,
    );
    assert.match((await page.textContent('#speed')) ?? '', /^\d+\.\d tokens\/s$/);
    await page.waitForFunction(() => document.getElementById('pages')?.textContent === '0 of 1');
    await page.fill('#text', 'Again');
    await page.click('#send');
    await page.waitForFunction(() => /^abc/.test(document.querySelectorAll('article.assistant')[1]?.textContent ?? ''));
    await page.click('#stop');
    await page.waitForFunction(() =>
      document.querySelectorAll('article.assistant')[1]?.textContent?.endsWith('stopped'),
    );
    assert.equal(await seriousFaults(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  });
  assert.equal(problems, []);
  await server.stop();
});

testIf(
  existsSync(CHROMIUM),
  `no ${CHROMIUM}`,
  'the page asks for the key, and its policy stops other code',
  async () => {
    const server = await alphabetServer({ key: KEY });
    const problems = await withPage(server.url, 'light', async (page) => {
      await page.waitForSelector('#key');
      await page.fill('#key', KEY);
      await page.press('#key', 'Enter');
      await page.waitForFunction(() => document.getElementById('model')?.textContent === 'alphabet');
      assert.ok(await page.isHidden('#key'));
      await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'globalThis.ran = true';
        document.body.append(script);
      });
      assert.is(await page.evaluate('globalThis.ran'), undefined);
    });
    // Of the missing key, and of the script that the policy stopped.
    assert.ok(problems.every((problem) => /401|Content Security Policy/.test(problem)));
    assert.ok(problems.some((problem) => problem.includes('Content Security Policy')));
    await server.stop();
  },
);

const RING: RingState = {
  devices: ['desktop', 'laptop', 'phone'].map((name, index) => ({
    name,
    present: index < 2,
    cpuLayers: index === 1 ? 8 : 16,
    gpuLayers: index === 1 ? 8 : 0,
    memory: index === 2 ? null : { held: (1 + index) * 2 ** 30, limit: 16 * 2 ** 30 },
    activity: { computing: 0.5, waiting: 0.25, reading: 1, sending: 0 },
  })),
  windows: [
    { device: 'desktop', from: 0, to: 8 },
    { device: 'laptop', from: 8, to: 24 },
    { device: 'desktop', from: 24, to: 32 },
  ],
  seconds: 1,
  texts: 3,
  predictedSeconds: 0.05,
  measuredSeconds: 0.0625,
  events: [{ at: 0, line: 'lost phone: the connection is cut' }],
};

for (const scheme of ['light', 'dark'] as const) {
  testIf(existsSync(CHROMIUM), `no ${CHROMIUM}`, `the page shows a ring at work, ${scheme}`, async () => {
    let state = RING;
    const server = await alphabetServer({ ring: () => state });
    const problems = await withPage(server.url, scheme, async (page) => {
      await page.waitForSelector('#ring:not([hidden])');
      const texts = await page.locator('#devices > li').allTextContents();
      assert.match(texts[0] ?? '', /^desktop16 layersholds 1\.00 GiB of 16 GiBcomputes50 %waits for its disk25 %/);
      assert.match(texts[1] ?? '', /^laptop16 layers, 8 on its GPU/);
      assert.match(texts[2] ?? '', /^phonelost/);
      assert.equal(await page.locator('#layers > span').allTextContents(), ['0–7', '8–23', '24–31']);
      const [first, second] = await Promise.all(
        [0, 1].map((index) => page.locator('#layers > span').nth(index).boundingBox()),
      );
      assert.ok(
        Math.abs((second?.width ?? 0) / (first?.width ?? 1) - 2) < 0.1,
        'sixteen layers are twice as wide as eight',
      );
      const pace = 'A token of 3 texts at once: predicted 50.0 ms, measured 62.5 ms';
      assert.is(await page.textContent('#pace'), pace);
      state = { ...RING, texts: 0, measuredSeconds: null };
      const idle = 'A token of one text: predicted 50.0 ms; nothing is written now';
      await page.waitForFunction((line) => document.getElementById('pace')?.textContent === line, idle);
      assert.match((await page.textContent('#events')) ?? '', /lost phone: the connection is cut$/);
      const bar = page.locator('.computing .filled').first();
      assert.is(await bar.evaluate((node) => (node as HTMLElement).style.inlineSize), '50%');
      assert.equal(await seriousFaults(page), []);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 360, `${wide} pixels wide`);
    });
    assert.equal(problems, []);
    await server.stop();
  });
}

test.run();
