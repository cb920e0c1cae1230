import { join } from 'node:path';

/** The root of this checkout. */
export const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
