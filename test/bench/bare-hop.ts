import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Dealer } from 'zeromq';
import { summarise, type Timing } from './measure.ts';

const [PROCESSES, MESSAGES] = [4, 400];

/**
 * Seconds that ZeroMQ alone takes to send a message of `bytes` bytes between processes, without parsing, checks,
 * encryption or computation. As in a ring, four processes forward it in turn, and each first reads memory for `pause`
 * seconds.
 */
export async function bareHop(bytes: number, pause: number): Promise<Timing> {
  const peers = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const file = join(import.meta.dirname, 'zeromq-echo.ts');
      const child = spawn(process.execPath, ['--import', 'tsx', file, String(pause)]);
      const [address] = (await once(child.stdout, 'data')) as [Buffer];
      const socket = new Dealer({ linger: 0 });
      socket.connect(address.toString().trim());
      return { child, socket };
    }),
  );
  const message = Buffer.alloc(bytes);
  const seconds: number[] = [];
  for (let sent = 0; sent < MESSAGES; sent++) {
    const { socket } = peers[sent % PROCESSES] as (typeof peers)[number];
    const start = performance.now();
    await socket.send(message);
    await socket.receive();
    seconds.push((performance.now() - start - 1000 * pause) / 2000);
  }
  for (const { child, socket } of peers) {
    socket.close();
    child.kill();
  }
  return summarise(seconds.slice(PROCESSES));
}
