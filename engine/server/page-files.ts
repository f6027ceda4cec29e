import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STYLE } from '../design/design.ts';

/** The files of the page's own folder, by path: their name and type. */
const FILES = {
  '/': ['index.html', 'text/html'],
  '/page.js': ['page.js', 'text/javascript'],
  '/ring.js': ['ring.js', 'text/javascript'],
  '/page.css': ['page.css', 'text/css'],
} as const;

/** The style that this page shares with reports and lessons. */
const DESIGN_PATH = '/design.css';

/** The paths of the page. */
export const PAGE_PATHS: readonly string[] = [...Object.keys(FILES), DESIGN_PATH];

/** Nothing from elsewhere, no code in the page itself, and no frame around it. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", 'img-src data:'],
  ...["form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ');

/** A file of the page. */
export interface PageFile {
  readonly path: string;
  /** Headers of its response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Reads the files of the page. All responses send the same bytes, which are in memory once. */
export function readPage(): PageFile[] {
  const own = Object.entries(FILES).map(([path, [file, type]]) =>
    pageFile(path, type, readFileSync(join(import.meta.dirname, 'page', file))),
  );
  return [...own, pageFile(DESIGN_PATH, 'text/css', Buffer.from(STYLE))];
}

function pageFile(path: string, type: string, bytes: Buffer): PageFile {
  return {
    path,
    headers: {
      ...{ 'content-type': `${type}; charset=utf-8`, 'content-security-policy': POLICY },
      ...{ 'referrer-policy': 'no-referrer', 'cache-control': 'no-cache' },
    },
    bytes,
  };
}
