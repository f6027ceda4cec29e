import { createServer } from 'node:net';

/** A TCP port of 127.0.0.1 on which nobody listens. */
export function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    }),
  );
}
