import { join } from 'node:path';
import { build, createServer, preview } from 'vite';
import { siteSettings } from './site-settings.ts';

/** The site of lessons: `serve` with live reload, `build` to static files, `preview` of what was built. */

const OUT = join(import.meta.dirname, '../results/notebooks');

const COMMANDS = {
  serve: async () => {
    const server = await createServer(siteSettings(OUT));
    await server.listen();
    server.printUrls();
  },
  build: async () => {
    await build(siteSettings(OUT));
  },
  preview: async () => {
    const server = await preview(siteSettings(OUT));
    server.printUrls();
  },
} as const;

const [command = 'serve'] = process.argv.slice(2);
if (command in COMMANDS) await COMMANDS[command as keyof typeof COMMANDS]();
else {
  process.stderr.write(`notebooks: unknown "${command}"; use serve, build or preview\n`);
  process.exitCode = 2;
}
