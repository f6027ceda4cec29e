import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../input/input-error.ts';

/** An open file without a name in its folder: it disappears when it is closed, or with the process. */
export interface NamelessFile {
  readonly descriptor: number;
  /** May be called again. */
  close(): void;
}

/** @throws InputError if it can't be created in `folder` */
export function namelessFile(folder: string): NamelessFile {
  try {
    const own = mkdtempSync(join(folder, 'hearth-kv-'));
    const descriptor = openSync(join(own, 'pages'), 'w+');
    rmSync(own, { recursive: true });
    let open = true;
    return {
      descriptor,
      close() {
        if (open) closeSync(descriptor);
        open = false;
      },
    };
  } catch (error) {
    throw new InputError(folder, (error as Error).message);
  }
}
