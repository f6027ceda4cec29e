import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { config, observable } from '@observablehq/notebook-kit/vite';
import type { IndexHtmlTransformHook, InlineConfig, Plugin } from 'vite';
import { STYLE } from '../engine/design/design.ts';

const FOLDER = import.meta.dirname;
/** Loopback only. */
const HOST = '127.0.0.1';

/** Resolves Notebook Kit's libraries, which it loads from a content network, to the installed ones. */
function vendored(): Plugin {
  return {
    name: 'vendored-libraries',
    enforce: 'pre',
    resolveId(source) {
      if (source.endsWith('recommendedLibraries.js')) return join(FOLDER, 'vendor/libraries.ts');
      if (source.endsWith('sampleDatasets.js') || source.startsWith('https://')) return join(FOLDER, 'vendor/none.ts');
      return undefined;
    },
  };
}

/** Makes a page of every notebook; other pages are left as they are. */
function lessons(): Plugin {
  const plugin = observable({ template: join(FOLDER, 'template.html') }) as Plugin;
  const { handler } = plugin.transformIndexHtml as { handler: IndexHtmlTransformHook };
  return {
    ...plugin,
    transformIndexHtml: {
      order: 'pre',
      handler(page, context) {
        return page.includes('<notebook') ? handler.call(this, page, context) : page;
      },
    },
  };
}

/** Puts the style that reports and the server's page share into the head of every page. */
function design(): Plugin {
  return {
    name: 'common-design',
    transformIndexHtml: () => [{ tag: 'style', children: STYLE, injectTo: 'head-prepend' }],
  };
}

/** The pages: the front page and every lesson. */
function pages(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.html') && file !== 'template.html')
    .map((file) => join(FOLDER, file));
}

/**
 * Settings of Vite for the site.
 * @param out the folder for the built site
 */
export function siteSettings(out: string): InlineConfig {
  return {
    ...config(),
    configFile: false,
    root: FOLDER,
    base: './',
    assetsInclude: ['**/*.gguf'],
    plugins: [vendored(), lessons(), design()],
    worker: { plugins: () => [vendored()] },
    // The development server bundles dependencies by itself, Notebook Kit's among them.
    optimizeDeps: { rolldownOptions: { plugins: [vendored()] } },
    server: { host: HOST, fs: { allow: [join(FOLDER, '..')] } },
    preview: { host: HOST },
    build: { outDir: out, emptyOutDir: true, rollupOptions: { input: pages() } },
  };
}
