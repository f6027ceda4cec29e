import type { Loaded } from './backends.ts';

/** The longest context that fits, and what ends it. */
export interface LongestContext {
  /** 0 where the model can't be loaded. */
  readonly tokens: number;
  /** The memory that the next token exceeds; `undefined` where the model's own limit is reached. */
  readonly lack: string | undefined;
}

/** Found by bisection, since more tokens never need less memory. @param most the model's own limit */
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
