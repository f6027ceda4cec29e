import type { Loaded } from './backends.ts';

/** The longest context that fits, and what ends it. */
export interface LongestContext {
  /** 0 where the model can't be loaded. */
  readonly tokens: number;
  /** What the next token lacks; undefined where the model's own limit is reached. */
  readonly lack: string | undefined;
}

/** By bisection, since more tokens never take less. @param most the model's own limit */
export function longestContext({ lack }: Pick<Loaded, 'lack'>, most: number): LongestContext {
  if (lack(most) === undefined) return { tokens: most, lack: undefined };
  if (lack(1) !== undefined) return { tokens: 0, lack: lack(1) };
  let [fits, doesNot] = [1, most];
  while (doesNot - fits > 1) {
    const middle = Math.floor((fits + doesNot) / 2);
    if (lack(middle) === undefined) fits = middle;
    else doesNot = middle;
  }
  return { tokens: fits, lack: lack(doesNot) };
}
