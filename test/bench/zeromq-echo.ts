import { Router } from 'zeromq';
import { goThroughMemory } from './go-through-memory.ts';

/** Echoes every message after so many seconds (the argument) until it is ended; prints its address. */
const pause = Number(process.argv[2]);
const socket = new Router();
await socket.bind('tcp://127.0.0.1:*');
process.stdout.write(`${socket.lastEndpoint}\n`);
for await (const [peer, message] of socket) {
  goThroughMemory(pause);
  await socket.send([peer as Buffer, message as Buffer]);
}
