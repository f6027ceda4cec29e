/** Called with steps of work as they are done. @throws LongWork if there were too many */
export type CountWork = (steps: number) => void;

/** Work takes longer than others should wait. */
export class LongWork extends Error {
  override readonly name = 'LongWork';
}

/** Counts work that is done while others wait. @param most steps */
export function shortWork(most: number): CountWork {
  let steps = 0;
  return (more) => {
    steps += more;
    if (steps > most) throw new LongWork(`more than ${most} steps`);
  };
}
