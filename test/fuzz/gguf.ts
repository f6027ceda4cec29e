import { createProgress } from '../../engine/terminal/progress.ts';
import { fuzzGguf } from './fuzz-gguf.ts';

/** A longer run than the tests': `tsx test/fuzz/gguf.ts [headers] [seed]`. */
const [count = 1_000_000, seed = 1] = process.argv.slice(2).map(Number);
const progress = createProgress(count);
const start = performance.now();
const result = fuzzGguf(seed, count, () => progress.step(''));
progress.stop();
const { rss } = process.memoryUsage();
const seconds = (performance.now() - start) / 1000;
console.log(JSON.stringify({ count, seed, seconds, ...result, residentBytes: rss }, null, 2));
