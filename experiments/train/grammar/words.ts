/** A child of the stories. */
export interface Person {
  readonly name: string;
  readonly he: 'he' | 'she';
  readonly his: 'his' | 'her';
}

const girl = (name: string): Person => ({ name, he: 'she', his: 'her' });
const boy = (name: string): Person => ({ name, he: 'he', his: 'his' });

export const PEOPLE: readonly Person[] = [
  ...['Anna', 'Mia', 'Lily', 'Sara', 'Emma', 'Nora', 'Rosa'].map(girl),
  ...['Ben', 'Tom', 'Max', 'Leo', 'Sam', 'Jack', 'Paul'].map(boy),
];

export const COLOURS = ['red', 'blue', 'green', 'yellow', 'white', 'brown', 'black'] as const;
export const THINGS = ['ball', 'kite', 'hat', 'book', 'boat', 'cup', 'drum', 'coat', 'lamp', 'shell'] as const;
/** All go with "in the" and "to the". */
export const PLACES = ['park', 'garden', 'forest', 'village', 'town', 'field', 'kitchen', 'barn'] as const;
export const SPOTS = [
  'under the bench',
  'behind the tree',
  'in the grass',
  'on the wall',
  'behind the door',
  'in the box',
  'under the table',
  'near the well',
] as const;
export const ANIMALS = ['dog', 'cat', 'bird', 'rabbit', 'horse', 'mouse', 'goat', 'duck'] as const;
export const FRUITS = ['apples', 'pears', 'plums', 'nuts', 'cakes', 'eggs'] as const;
export const BEGINNINGS = [
  'One day',
  'One morning',
  'After lunch',
  'Last summer',
  'On Sunday',
  'In the evening',
] as const;
export const ENDINGS = [
  'They laughed and went home.',
  'They were good friends.',
  'It was a good day.',
  'Then it was time for dinner.',
  'They were tired and happy.',
] as const;

export const NUMBERS = 'zero one two three four five six seven eight nine ten'.split(' ');

/** A sentence's first letter as a capital. */
export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
