import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import autocannon from 'autocannon';
import { madeFile } from '../runtime/made-file.ts';
import { hearthHere } from '../support/run-script.ts';

/**
 * The time that `hearth serve` adds to a token, on a tiny model whose own time is small: seconds per token of `hearth generate`
 * and of the same text as a stream, in turns; then whole completions under load (autocannon).
 */
const TOKENS = 200;
const ROUNDS = 7;
/** The model's greedy text after it is longer than TOKENS. */
const PROMPT = 'the';
const [CONNECTIONS, LOAD_SECONDS, LOAD_TOKENS] = [8, 5, 16];

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
const model = await madeFile({ folder, name: 'tiny' });
const server = spawn(process.execPath, [
  ...['--import', 'tsx', 'bin/hearth.ts', 'serve', '--model', model, '--port', '0', '--threads', '1'],
]);
try {
  const url = await addressOf();
  const alone: number[] = [];
  const served: number[] = [];
  await streamed(url); // the first of each warms up
  await generated();
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await generated());
    served.push(await streamed(url));
  }
  const [own, http] = [median(alone), median(served)];
  console.log(
    `hearth generate        ${micro(own)} per token (${micro(Math.min(...alone))} to ${micro(Math.max(...alone))})`,
  );
  console.log(
    `hearth serve, streamed ${micro(http)} per token (${micro(Math.min(...served))} to ${micro(Math.max(...served))})`,
  );
  console.log(`the server adds        ${micro(http - own)} per token, with the client in this process`);
  const { requests, latency, non2xx, errors } = await autocannon({
    url: `${url}/v1/completions`,
    ...{ method: 'POST', connections: CONNECTIONS, duration: LOAD_SECONDS },
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: PROMPT, max_tokens: LOAD_TOKENS, seed: 1 }),
  });
  console.log(
    `${CONNECTIONS} connections, ${LOAD_TOKENS} tokens each: ${requests.average} requests/s, median ${latency.p50} ms`,
  );
  console.log(`${non2xx} refused, ${errors} errors`);
} finally {
  server.kill('SIGINT');
  await once(server, 'exit');
  rmSync(folder, { recursive: true });
}

async function addressOf(): Promise<string> {
  for await (const line of createInterface({ input: server.stderr })) {
    const address = /at (http:\/\/[^,]+),/.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error('the server did not start');
}

/** Seconds per token, as `hearth generate --json` reports them. */
async function generated(): Promise<number> {
  const options = ['--prompt', PROMPT, '--tokens', String(TOKENS), '--temperature', '0', '--threads', '1', '--json'];
  const { stdout } = await hearthHere('generate', '--model', model, ...options);
  const { tokens, tokensPerSecond } = JSON.parse(stdout) as { tokens: readonly number[]; tokensPerSecond: number };
  if (tokens.length !== TOKENS) throw new Error(`${tokens.length} tokens; the text has ended before`);
  return 1 / tokensPerSecond;
}

/** Seconds per token from the first event of a stream to the last. */
async function streamed(url: string): Promise<number> {
  const body = JSON.stringify({ prompt: PROMPT, max_tokens: TOKENS, temperature: 0, stream: true, logprobs: 0 });
  const headers = { 'content-type': 'application/json' };
  const { body: stream } = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body });
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let [first, last, events] = [0, 0, 0];
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    last = performance.now() / 1000;
    if (first === 0) first = last;
    events += decoder.decode(read.value, { stream: true }).split('\n\n').length - 1;
  }
  // With the chunk of the finish reason, and [DONE].
  if (events !== TOKENS + 2) throw new Error(`${events} events for ${TOKENS} tokens; the text has ended before`);
  return (last - first) / (TOKENS - 1);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function micro(seconds: number): string {
  return `${(1e6 * seconds).toFixed(0)} µs`;
}
