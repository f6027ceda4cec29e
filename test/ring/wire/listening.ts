import { listen } from '../../../engine/ring/wire/listener.ts';
import { createTransport } from '../../../engine/ring/wire/transport.ts';

/** A process that listens on loopback, says at which address, and hears whatever it is sent. */
const listener = await listen({
  transport: createTransport(undefined, () => {}),
  address: 'tcp://127.0.0.1:*',
  domain: 'test',
  admits: () => undefined,
  mostBytes: 2 ** 30,
  onFrame() {},
  belongs: () => true,
  onExpelled() {},
});
process.stdout.write(`${listener.address}\n`);
