import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../../engine/runtime/load/load-transformer.ts';
import { nmse } from '../../runtime/nmse.ts';
import { testIf } from '../../support/needs.ts';
import type { PageLogits } from './in-a-page.ts';

const CHROMIUM = '/usr/bin/chromium';
const MODEL = 'datasets/models/stories-300k.gguf';
const TOKENS = [1, 20, 30, 40, 50];

const folder = mkdtempSync(join(tmpdir(), 'hearth-page-'));
test.after(() => rmSync(folder, { recursive: true }));

/** On the GPU in software that Chromium brings. */
async function computedInPage(): Promise<PageLogits> {
  const { outputFiles } = await build({
    entryPoints: ['test/kernels/webgpu/in-a-page.ts'],
    ...{ bundle: true, write: false, format: 'iife', platform: 'browser', logLevel: 'silent' },
  });
  const page = join(folder, 'page.html');
  writeFileSync(page, `<!doctype html><script>${outputFiles?.[0]?.text}</script>`);
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
  });
  try {
    const opened = await browser.newPage();
    await opened.goto(`file://${page}`);
    const call = `logitsInPage(${JSON.stringify(readFileSync(MODEL, 'base64'))}, ${JSON.stringify(TOKENS)})`;
    return await opened.evaluate<PageLogits>(call);
  } finally {
    await browser.close();
  }
}

testIf(
  existsSync(CHROMIUM),
  `no ${CHROMIUM}`,
  'a page computes the logits of double precision by navigator.gpu',
  async () => {
    const kernels = openKernels({ implementation: 'reference' });
    const expected = await loadTransformer(MODEL, { kernels, context: TOKENS.length, kvCache: 'F32' }).evaluate(TOKENS);
    const { adapter, logits, token } = await computedInPage();
    assert.ok(nmse(logits, expected) < 1e-9, `${adapter}: ${nmse(logits, expected)}`);
    assert.is(token, expected.indexOf(Math.max(...expected)));
  },
);

test.run();
