import { join } from 'node:path';

/** The addon's build, whose objects programs of tests are linked with: kernels take a compiler minutes. */
export const RELEASE = join(import.meta.dirname, '../../native/build/release');

/** The object of a file of native/kernels, as the addon has it. */
export function releaseObject(kernels: string): string {
  return join(RELEASE, `kernels-${kernels}.o`);
}
