import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sampleOf } from '../../engine/profile/sample.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { startNode, until } from '../ring/processes.ts';

/**
 * The gain of guesses for one client of `hearth serve` with the shipped models, greedy: servers without guesses, with as many
 * as pay and with seven at a time, on one thread each, get the same requests by turns.
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '12' }, help: { type: 'boolean' } },
});
if (values.help) {
  console.log('Usage: tsx test/bench/served-drafts.ts [--rounds 12]');
  process.exit(0);
}
const rounds = readRounds();
const models = join(import.meta.dirname, '../../datasets/models');
const draft = ['--draft', join(models, 'stories-300k.gguf')];
const SERVERS = {
  'without guesses': [],
  'as many as pay': draft,
  'seven at a time': [...draft, '--draft-tokens', '7'],
};
const PROMPTS = ['Mia', 'Max', 'Tom', 'Lily', 'Ben', 'Anna'].map((name) => `One day, ${name}`);

const servers = await Promise.all(
  Object.entries(SERVERS).map(async ([name, options]) => {
    const fixed = ['--model', join(models, 'stories-3m.gguf'), '--name', 'm', '--port', '0', '--threads', '1'];
    const server = startNode('bin/hearth.js', 'serve', ...fixed, ...options);
    await until('the server listens', 120, () => /serves m at \S+/.test(server.stderr));
    const url = /at (http:\/\/\S+),/.exec(server.stderr)?.[1] as string;
    return { name, server, url, seconds: [] as number[] };
  }),
);
for (let round = 0; round < rounds; round++)
  for (const { url, seconds } of servers) seconds.push(await secondsPerToken(url));
const [plain] = servers;
for (const { name, url, seconds } of servers) {
  const gain = sampleOf(seconds.map((own, round) => (plain?.seconds[round] as number) / own));
  const guesses = /^hearth_drafted_tokens_total (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1] ?? 0;
  const time = `${(1e6 * sampleOf(seconds).median).toFixed(0)} µs a token`;
  console.log(
    `${name}: ${time}, × ${gain.median.toFixed(2)} ± ${(100 * gain.spread).toFixed(0)} %, ${guesses} guesses`,
  );
}
for (const { server } of servers) server.child.kill('SIGTERM');

function readRounds(): number {
  try {
    return readCount('--rounds', values.rounds, 1, 1000);
  } catch (error) {
    process.exit(reportError(error, 'served-drafts'));
  }
}

async function secondsPerToken(url: string): Promise<number> {
  const start = performance.now();
  let tokens = 0;
  for (const prompt of PROMPTS) {
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt, max_tokens: 100, temperature: 0 }),
    });
    tokens += ((await response.json()) as { usage: { completion_tokens: number } }).usage.completion_tokens;
  }
  return (performance.now() - start) / 1000 / tokens;
}
