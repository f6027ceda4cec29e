import { type Context, Reply } from 'zeromq';

/** Why a peer may not connect, or undefined. Its public key is hexadecimal; undefined on a plain link. */
export type Admission = (publicKey: string | undefined) => string | undefined;

/**
 * Answers libzmq's questions whether a peer may connect (ZAP, ZeroMQ RFC 27) by the rule of the listener's domain. Plain
 * links are asked about as well: besides, libzmq then turns away what speaks ZMTP 1.0 or 2.0, for which it takes any bytes.
 * @returns what ends it
 */
export function serveAuthentication(
  context: Context,
  rules: ReadonlyMap<string, Admission>,
  log: (line: string) => void,
): () => void {
  const socket = new Reply({ context, linger: 0 });
  socket.bindSync('inproc://zeromq.zap.01');
  const serve = async (): Promise<void> => {
    for await (const [version, id, domain, address, , mechanism, key] of socket) {
      const publicKey = String(mechanism) === 'CURVE' ? key?.toString('hex') : undefined;
      const rule = rules.get(String(domain));
      const problem = rule === undefined ? `there is no ${domain}` : rule(publicKey);
      if (problem !== undefined) log(`turned away ${address}: ${problem}`);
      const [code, text] = problem === undefined ? ['200', 'OK'] : ['400', 'not admitted'];
      await socket.send([version ?? '', id ?? '', code, text, publicKey ?? '', '']);
    }
  };
  serve().catch((error: Error) => {
    if (!socket.closed) log(`authentication ended: ${error.message}`);
  });
  return () => socket.close();
}
