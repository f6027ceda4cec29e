import { writePackage } from '../write-package.ts';

/**
 * Builds the package `@hearth-workbench/light`: planner, simulator and GGUF reader in one file for each entry, with what
 * they depend on inside, so that nothing is compiled or downloaded when it is installed. `npm pack` runs it.
 */
await writePackage(import.meta.dirname, ['index', 'simulator', 'gguf'], { platform: 'browser' });
