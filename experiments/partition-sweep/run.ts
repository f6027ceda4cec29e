import { InputError } from '../../engine/input/input-error.ts';
import { thousands } from './findings.ts';
import type { PointsFile } from './points-file.ts';
import type { Space } from './space.ts';
import type { Sweeper } from './sweeper.ts';

/** Reports the size of the space, and how much of it will be simulated, before the simulation begins. */
export function announce(space: Space, wanted: number, done: number): void {
  const sizes = space.sizes.map(({ rounds, size }) => `${thousands(size)} with k = ${rounds}`).join(', ');
  const drawn = wanted < space.size ? `; ${thousands(wanted)} of them, drawn at random, are simulated` : '';
  const there = done > 0 ? `; ${thousands(done)} are there already` : '';
  process.stderr.write(`${thousands(space.size)} plans (${sizes})${drawn}${there}\n`);
}

/**
 * Results of two versions of the program must not be mixed, so the file's last plan is judged again.
 * @throws InputError if this program's result for it differs from the stored one
 */
export function checkLast(sweeper: Sweeper, { path, last }: PointsFile): void {
  if (last === undefined) return;
  const { plan, ...was } = last;
  const is = sweeper.judge(sweeper.plan(plan));
  if (JSON.stringify(was) === JSON.stringify(is)) return;
  throw new InputError(
    path,
    `plan ${plan} is there with ${JSON.stringify(was)}, but comes out as ${JSON.stringify(is)} now: the program has changed; pass --restart to sweep from the beginning, or another --out`,
  );
}
