import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build, createServer as createDevelopmentServer } from 'vite';
import { siteSettings } from '../../notebooks/site-settings.ts';
import { freePort } from './free-port.ts';

export const CHROMIUM = '/usr/bin/chromium';

/** Pixels of a page's height. */
const HEIGHT = 900;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.woff2': 'font/woff2',
};

/** The site, served on loopback, and a browser. */
export interface OpenSite {
  /** A page of the site at a width in pixels, with what went wrong on it so far. */
  open(page: string, how?: { readonly width?: number; readonly scheme?: 'light' | 'dark' }): Promise<OpenPage>;
  close(): Promise<void>;
}

export interface OpenPage {
  readonly page: Page;
  /** Errors on the console, failed cells, requests to other hosts. */
  problems(): Promise<string[]>;
}

let built: Promise<string> | undefined;

/** Builds the site of lessons into a temporary folder, once for all test files of a process. */
function buildSite(): Promise<string> {
  built ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-site-'));
    process.once('exit', () => rmSync(folder, { recursive: true }));
    await build({ ...siteSettings(folder), logLevel: 'error' });
    return folder;
  })();
  return built;
}

/** Builds the site of lessons and opens it in headless Chromium. */
export async function openSite(): Promise<OpenSite> {
  const server = serve(await buildSite());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return openAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, () => server.close());
}

/** The development server of the lessons (`npm run notebooks`), with nothing kept from earlier runs. */
export async function openDevelopmentSite(): Promise<OpenSite> {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-site-development-'));
  const settings = siteSettings(join(folder, 'out'));
  const server = await createDevelopmentServer({
    ...settings,
    cacheDir: join(folder, 'cache'),
    server: { ...settings.server, port: await freePort() },
    logLevel: 'silent',
  });
  await server.listen();
  return openAt(server.resolvedUrls?.local[0] ?? '', async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Opens a server's pages in a browser that can reach nothing else. */
async function openAt(root: string, stop: () => unknown): Promise<OpenSite> {
  const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  return {
    open: (page, { width = 1024, scheme = 'light' } = {}) => openPage(browser, root, { page, width, scheme }),
    async close() {
      await browser.close();
      await stop();
    },
  };
}

function serve(folder: string): Server {
  return createServer((request, response) => {
    const file = join(folder, new URL(request.url ?? '/', 'http://localhost').pathname);
    if (!existsSync(file)) response.writeHead(404).end();
    else
      response
        .writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
        .end(readFileSync(file));
  });
}

interface Visit {
  readonly page: string;
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

async function openPage(browser: Browser, root: string, { page: path, width, scheme }: Visit): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width, height: HEIGHT }, colorScheme: scheme });
  const page = await context.newPage();
  const found: string[] = [];
  page.on('pageerror', (error) => found.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && found.push(message.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (
      !url.startsWith(root) &&
      !url.startsWith(root.replace('http', 'ws')) &&
      !url.startsWith('data:') &&
      !url.startsWith('blob:')
    )
      found.push(`requests ${url}`);
  });
  await page.goto(`${root}${path}.html`);
  await page.waitForLoadState('networkidle');
  const problems = async (): Promise<string[]> => [
    ...found,
    ...(await page.locator('.observablehq--error').allTextContents()),
  ];
  return { page, problems };
}

/** Milliseconds without a change after which a page counts as drawn, and the most to wait for them. */
const STILL = 150;
const MOST_MOVING = 20_000;

/** Gives a page another width, in pixels, and waits until its charts are drawn again. */
export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT });
  await page.evaluate(
    ([still, most]) =>
      new Promise<void>((resolve, reject) => {
        let drawn = setTimeout(resolve, still);
        setTimeout(reject, most, new Error(`the page still changes after ${most} ms`));
        new MutationObserver(() => {
          clearTimeout(drawn);
          drawn = setTimeout(resolve, still);
        }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      }),
    [STILL, MOST_MOVING] as const,
  );
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious faults of accessibility, by rule and element. */
export async function seriousFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 100)}`));
  });
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}
