import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Dealer, Router } from 'zeromq';

/**
 * Preloaded into a worker by `--import`: from SIGUSR1 on it sends each result as the file HEARTH_CHAOS_LIE says, until
 * that is gone: `twice`, `late` or `never`.
 */
const LATE = 2000;
let armed = false;
process.on('SIGUSR1', () => {
  armed = true;
});

function lie() {
  if (!armed) return undefined;
  try {
    return readFileSync(process.env.HEARTH_CHAOS_LIE ?? '', 'utf8');
  } catch {
    armed = false;
    return undefined;
  }
}

/** Magic, version and kind of activations (engine/ring/wire/frame.ts). */
const isResult = (part) => part instanceof Buffer && part.toString('latin1', 0, 4) === 'HRTH' && part[6] === 1;

for (const { prototype } of [Dealer, Router]) {
  const { send } = prototype;
  async function sendResult(message) {
    const how = Array.isArray(message) && message.some(isResult) ? lie() : undefined;
    if (how === 'never') return;
    if (how === 'late') await sleep(LATE);
    if (how === 'twice') await send.call(this, message);
    await send.call(this, message);
  }
  Object.defineProperty(prototype, 'send', { value: sendResult });
}
