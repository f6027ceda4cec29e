import type { Dice } from './dice.ts';
import { capital, NUMBERS } from './words.ts';

/** A sum in digits: the question and its answer. */
export interface Sum {
  readonly left: string;
  readonly result: number;
}

/** Sums and differences of one digit, products with up to five, and sums of two digits and one that carry nothing. */
export function sum(dice: Dice): Sum {
  const kind = dice.weighted([
    [3, 'plus'],
    [3, 'minus'],
    [2, 'times'],
    [2, 'long'],
  ] as const);
  const a = dice.number(1, 9);
  switch (kind) {
    case 'plus': {
      const b = dice.number(1, 9);
      return { left: `${a} + ${b}`, result: a + b };
    }
    case 'minus': {
      const b = dice.number(0, a);
      return { left: `${a} - ${b}`, result: a - b };
    }
    case 'times': {
      const b = dice.number(2, 5);
      return { left: `${a} x ${b}`, result: a * b };
    }
    case 'long': {
      const ones = dice.number(0, 8);
      const b = dice.number(1, 9 - ones);
      return { left: `${10 * a + ones} + ${b}`, result: 10 * a + ones + b };
    }
  }
}

/** A page of arithmetic of one kind. */
export function arithmetic(dice: Dice): string {
  return dice.pick([sums, words, counting, table])(dice);
}

function sums(dice: Dice): string {
  return Array.from({ length: 8 }, () => sum(dice))
    .map(({ left, result }) => `${left} = ${result}.`)
    .join(' ');
}

function words(dice: Dice): string {
  return Array.from({ length: 6 }, () => {
    const a = dice.number(0, 9);
    const b = dice.number(0, 10 - a);
    return `${capital(NUMBERS[a] as string)} plus ${NUMBERS[b]} is ${NUMBERS[a + b]}.`;
  }).join(' ');
}

function counting(dice: Dice): string {
  const [step, start] = [dice.number(1, 5), dice.number(0, 9)];
  const numbers = Array.from({ length: 12 }, (_, index) => start + step * index);
  return `Count from ${start} in steps of ${step}: ${numbers.join(', ')}.`;
}

function table(dice: Dice): string {
  const factor = dice.number(2, 9);
  const rows = Array.from({ length: 9 }, (_, index) => `${index + 1} x ${factor} = ${(index + 1) * factor}.`);
  return `The table of ${factor}: ${rows.join(' ')}`;
}
