import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files of the page, by path. */
export const PAGE_FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/page.js': { file: 'page.js', type: 'text/javascript; charset=utf-8' },
  '/ring.js': { file: 'ring.js', type: 'text/javascript; charset=utf-8' },
  '/page.css': { file: 'page.css', type: 'text/css; charset=utf-8' },
};

/** Nothing from elsewhere, no code in the page itself, and no frame around it. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", 'img-src data:'],
  ...["form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ');

/** A file of the page, with the headers of its response. */
export function pageFile(path: string): { readonly headers: Readonly<Record<string, string>>; readonly bytes: Buffer } {
  const { file, type } = PAGE_FILES[path] as { file: string; type: string };
  return {
    headers: {
      ...{ 'content-type': type, 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' },
      'cache-control': 'no-cache',
    },
    bytes: readFileSync(join(import.meta.dirname, 'page', file)),
  };
}
