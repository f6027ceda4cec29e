// Loaders of the main thread do not reach other threads: this one's is registered here.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
const { default: computeRange } = await import('./thread.ts');
export default computeRange;
