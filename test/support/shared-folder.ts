import { join } from 'node:path';

/** Larger test data that aren't part of the project: HEARTH_SHARED, or the folder `shared` beside the project's. */
export const SHARED = process.env.HEARTH_SHARED ?? join(import.meta.dirname, '../../../shared');
