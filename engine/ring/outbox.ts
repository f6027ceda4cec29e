/** Does sends one after another, as ZeroMQ's sockets need it; each says how it ended. */
export function createOutbox(): (send: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (send) => {
    const sent = last.then(send);
    last = sent.catch(() => {});
    return sent;
  };
}
