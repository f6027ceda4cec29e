import type { StageTime } from './transformer.ts';

/** Told of every stage of a forward pass: stages then run one by one, which costs some microseconds each. */
export interface StageHooks {
  /** It is about to run; its weights must be there when this returns. */
  before?(stage: StageTime['name']): void;
  after?(stage: StageTime): void;
}

/** All of them, in order; undefined where there are none. */
export function joinHooks(hooks: readonly StageHooks[]): StageHooks | undefined {
  if (hooks.length === 0) return undefined;
  return {
    before(stage) {
      for (const hook of hooks) hook.before?.(stage);
    },
    after(stage) {
      for (const hook of hooks) hook.after?.(stage);
    },
  };
}
