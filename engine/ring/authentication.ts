import { type Context, Reply } from 'zeromq';

/**
 * Answers libzmq's questions whether a client with some key may connect (ZAP, ZeroMQ RFC 27): only those that the rule of
 * the listener's domain allows.
 * @returns what ends it
 */
export function serveAuthentication(
  context: Context,
  rules: ReadonlyMap<string, (publicKey: string) => boolean>,
  log: (line: string) => void,
): () => void {
  const socket = new Reply({ context, linger: 0 });
  socket.bindSync('inproc://zeromq.zap.01');
  const serve = async (): Promise<void> => {
    for await (const [version, id, domain, address, , mechanism, key] of socket) {
      const publicKey = key?.toString('hex') ?? '';
      const allowed = mechanism?.toString() === 'CURVE' && rules.get(String(domain))?.(publicKey) === true;
      if (!allowed) log(`turned away ${address}, whose public key ${publicKey} is not known to ${domain}`);
      await socket.send([
        version ?? '',
        id ?? '',
        allowed ? '200' : '400',
        allowed ? 'OK' : 'unknown key',
        publicKey,
        '',
      ]);
    }
  };
  serve().catch((error: Error) => {
    if (!socket.closed) log(`authentication ended: ${error.message}`);
  });
  return () => socket.close();
}
