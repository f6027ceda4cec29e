// tsx's loader of the main thread does not reach other threads: it is registered here.
import { register } from 'tsx/esm/api';

register();
const { default: computeRange } = await import('./thread.ts');
export default computeRange;
