import { type Context, Reply } from 'zeromq';

/**
 * Decides whether a peer may connect: `undefined` if so, otherwise the reason. The key is hexadecimal, and `undefined`
 * on a plain link.
 */
export type Admission = (publicKey: string | undefined) => string | undefined;

/**
 * Answers libzmq's requests to authenticate peers (ZAP, ZeroMQ RFC 27) by the rule of the listener's domain. Plain links
 * are included: with ZAP, libzmq also refuses peers of ZMTP 1.0 and 2.0, from which it would accept any bytes.
 * @returns a function that stops the service
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
