import { writeFileSync } from 'node:fs';
import { helpFiles } from './support/help-files.ts';

/** Writes docs/reference/options.md and the summaries of `hearth --help` from the commands. Run by `npm run renew:options`. */
for (const [file, text] of Object.entries(await helpFiles())) writeFileSync(file, text);
