import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build } from 'vite';
import { siteSettings } from '../../notebooks/site-settings.ts';

export const CHROMIUM = '/usr/bin/chromium';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.woff2': 'font/woff2',
};

/** The built site, served on loopback, and a browser. */
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

/** Builds the site of lessons into a temporary folder, and opens it in headless Chromium. */
export async function openSite(): Promise<OpenSite> {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-site-'));
  await build({ ...siteSettings(folder), logLevel: 'error' });
  const server = serve(folder);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  return {
    open: (page, { width = 1024, scheme = 'light' } = {}) => openPage(browser, root, { page, width, scheme }),
    async close() {
      await browser.close();
      server.close();
      rmSync(folder, { recursive: true });
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
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const found: string[] = [];
  page.on('pageerror', (error) => found.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && found.push(message.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(root) && !url.startsWith('data:') && !url.startsWith('blob:')) found.push(`requests ${url}`);
  });
  await page.goto(`${root}${path}.html`);
  await page.waitForLoadState('networkidle');
  const problems = async (): Promise<string[]> => [
    ...found,
    ...(await page.locator('.observablehq--error').allTextContents()),
  ];
  return { page, problems };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious faults of accessibility, by rule and element. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResult> } };
    const { violations } = await axe.run();
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
