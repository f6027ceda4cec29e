import { listen } from '../../../engine/ring/wire/listener.ts';
import { createTransport } from '../../../engine/ring/wire/transport.ts';

/**
 * A process that listens on loopback, says at which address, and hears whatever it is sent. After an echo it answers
 * with one and ends.
 */
const listener = await listen({
  transport: createTransport(undefined, () => {}),
  address: 'tcp://127.0.0.1:*',
  domain: 'test',
  admits: () => undefined,
  mostBytes: 2 ** 30,
  onFrame(peer, frame) {
    if (frame.kind === 'echo') {
      listener.send(peer, frame).catch(() => {});
      listener.close();
      setTimeout(process.exit, 300);
    }
  },
  belongs: () => true,
  onExpelled() {},
});
process.stdout.write(`${listener.address}\n`);
