import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from '../../experiments/report/median.ts';
import { startNode, until } from '../ring/processes.ts';

/**
 * Clients that ask a server for minutes: every answer must be the one that the same server gives to that question alone,
 * whole or in a stream; some clients leave in the middle. Prints what became of the requests, and the server's memory
 * by the minute: the least and the most that the process has, and what its heap holds after the last full collection,
 * since garbage between collections comes and goes. Exit code 1 after a wrong answer or an error, or if memory grew.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clients: { type: 'string', default: '64' },
    minutes: { type: 'string', default: '10' },
    help: { type: 'boolean' },
  },
});
const [model = join(import.meta.dirname, '../../datasets/models/stories-3m.gguf')] = positionals;
if (values.help) {
  console.log('Usage: tsx test/bench/serve-clients.ts [MODEL.gguf] [--clients 64] [--minutes 10]');
  process.exit(0);
}
const [clients, minutes] = [Number(values.clients), Number(values.minutes)];
const options = ['--model', model, '--name', 'm', '--port', '0', '--context', '256', '--max-texts', '256'];
const server = startNode('--trace-gc', 'bin/hearth.js', 'serve', ...options);
await until('the server listens', 120, () => /serves m at \S+/.test(server.stderr));
const url = /at (http:\/\/\S+),/.exec(server.stderr)?.[1] as string;

/** Question number `index`: some begin alike, some are drawn. */
const question = (index: number) => ({
  model: 'm',
  prompt: `${'Once there was a house. '.repeat(index % 5)}Question ${index % 48}:`,
  max_tokens: 4 + (index % 7) * 6,
  temperature: index % 3 === 0 ? 0.8 : 0,
  seed: index % 48,
});

async function ask(index: number, stream: boolean, leaves = false): Promise<string> {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...question(index), stream }),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  if (!stream) return ((await response.json()) as { choices: { text: string }[] }).choices[0]?.text ?? '';
  let [text, pending] = ['', ''];
  const decoder = new TextDecoder();
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    pending += decoder.decode(bytes, { stream: true });
    const events = pending.split('\n\n');
    pending = events.pop() ?? '';
    for (const event of events) {
      const data = event.replace(/^data: /, '');
      if (data === '[DONE]') return text;
      text += (JSON.parse(data) as { choices: { text: string }[] }).choices[0]?.text ?? '';
      if (leaves && text.length > 3) return text; // cancels the response
    }
  }
  throw new Error('a stream without its end');
}

const alone = new Map<number, string>();
const known = Array.from({ length: 96 }, (_, index) => 17 * index);
for (const index of known) alone.set(index, await ask(index, false));
console.log(`${alone.size} questions were asked alone`);

/** MiB of the process, and of what its heap held after the last full collection. */
const resident = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024;
const heldInHeap = (): number =>
  Number([...server.stdout.matchAll(/Mark-Compact.* -> ([\d.]+) \(/g)].at(-1)?.[1] ?? Number.NaN);
/** By second, and by minute. */
const seconds: number[] = [];
const held: number[] = [];
const watch = setInterval(() => {
  seconds.push(resident());
  if (seconds.length % 60 === 0) held.push(heldInHeap());
}, 1000);
const counts = { whole: 0, streamed: 0, left: 0, wrong: 0, failed: 0 };
const end = performance.now() + 60_000 * minutes;
await Promise.all(
  Array.from({ length: clients }, async (_, client) => {
    for (let turn = client; performance.now() < end; turn += 7) {
      const index = known[turn % known.length] as number;
      const [streams, leaves] = [turn % 2 === 1, turn % 13 === 1];
      try {
        const text = await ask(index, streams, streams && leaves);
        const expected = alone.get(index) as string;
        if (streams && leaves) counts.left += 1;
        else counts[streams ? 'streamed' : 'whole'] += 1;
        if (streams && leaves ? !expected.startsWith(text) : text !== expected) {
          counts.wrong += 1;
          console.log(`question ${index}: ${JSON.stringify(text)}; alone ${JSON.stringify(expected)}`);
        }
      } catch (error) {
        counts.failed += 1;
        console.log(`question ${index}: ${(error as Error).message}`);
      }
    }
  }),
);
clearInterval(watch);
console.log(`${clients} clients, ${minutes} minutes: ${JSON.stringify(counts)}`);
const byMinute = held.map((_, minute) => seconds.slice(60 * minute, 60 * (minute + 1)));
/** The least of a minute depends on when garbage was collected. */
const most = byMinute.map((own) => Math.max(...own));
const ranges = byMinute.map((own, minute) => `${Math.min(...own).toFixed(0)}–${most[minute]?.toFixed(0)}`);
console.log(`the server’s memory by the minute, MiB: ${ranges.join(', ')}`);
console.log(`of that held in the heap: ${held.map((own) => own.toFixed(1)).join(', ')}`);
/** Whether the second half's median is more than a tenth above that of the first. */
const grew = (values: readonly number[]): boolean => {
  const half = Math.floor(values.length / 2);
  return median(values.slice(half)) > 1.1 * median(values.slice(0, half));
};
// The first minute, in which code is compiled and pages are filled, doesn't count; two halves need two more.
const isLong = held.length > 2;
const isFlat = !grew(most.slice(1)) && !grew(held.slice(1));
if (isLong) console.log(isFlat ? 'memory is flat' : 'memory grew');
server.child.kill('SIGTERM');
process.exitCode = (await server.ended) === 0 && counts.wrong + counts.failed === 0 && (isFlat || !isLong) ? 0 : 1;
