/** Milliseconds between looks at the parent. */
const INTERVAL = 1000;

/**
 * Waits for the end of the process that started this one, if that is npx: it passes signals to a shell that doesn't
 * pass them on, so that what it started would go on alone. Never resolves for processes started in another way, which
 * may well outlive their parents. Doesn't keep the process alive.
 */
export function npxEnded(): Promise<void> {
  return new Promise((resolve) => {
    if (process.env.npm_command !== 'exec') return;
    const parent = process.ppid;
    const looking = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(looking);
      resolve();
    }, INTERVAL).unref();
  });
}
