/** Lets other events be handled. Browsers have no setImmediate, which waits for no timer. */
export function otherEvents(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve);
  });
}
