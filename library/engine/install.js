import { existsSync } from 'node:fs';

// Compiles the kernels of an installed package. In a clone the project's own script does, and they lie in native/build.
if (!existsSync(new URL('../../native/build.ts', import.meta.url))) await import('./dist/native/build.js');
