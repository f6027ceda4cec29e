import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openEventStream } from '../../engine/server/event-stream.ts';

test('comments come while nothing else is sent, and end with the stream', async () => {
  const server = createServer(async (_request, response) => {
    const out = openEventStream(response, new AbortController().signal, { commentSeconds: 0.02 });
    await setTimeout(200);
    await out.send([{ data: '[DONE]' }]);
    out.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const text = await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text();
  server.close();
  assert.match(text, /^(?::\n\n)+data: \[DONE\]\n\n$/);
});

test.run();
