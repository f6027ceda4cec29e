#!/usr/bin/env node
import { bundledCommandLine } from './bundle.js';

const bundle = await bundledCommandLine();
if (bundle !== undefined) await import(bundle);
else {
  // Nothing can be written here: tsx compiles each module while loading it.
  (await import('tsx/esm/api')).register();
  await import('./hearth.ts');
}
