import { join } from 'node:path';

/**
 * Folder of larger test data that aren't part of the project: HEARTH_SHARED, or `shared` next to the project's folder.
 */
export const SHARED = process.env.HEARTH_SHARED ?? join(import.meta.dirname, '../../../shared');
