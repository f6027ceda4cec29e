import { sum } from './arithmetic.ts';
import type { Dice } from './dice.ts';
import { PLOTS, story } from './stories.ts';
import { COLOURS, PEOPLE, PLACES, SPOTS, THINGS } from './words.ts';

/** A question of the user and the assistant's answer. */
export interface Turn {
  readonly user: string;
  readonly assistant: string;
}

export interface Conversation {
  readonly system: string | undefined;
  readonly turns: readonly Turn[];
}

/** The turns about one subject, by weight. */
const SUBJECTS: readonly (readonly [weight: number, turns: (dice: Dice) => Turn[]])[] = [
  [4, facts],
  [2, aboutStory],
  [3, sums],
  [4, tell],
  [1, greeting],
];

const SYSTEMS = ['You are a helpful model.', 'You answer questions and tell stories.'] as const;

/** A conversation of one or two subjects, one in four with a system message. */
export function conversation(dice: Dice): Conversation {
  const system = dice.weighted([
    [3, undefined],
    [1, SYSTEMS],
  ] as const);
  const chosen = system && dice.pick(system);
  const first = dice.weighted(SUBJECTS);
  const turns = first(dice);
  if (
    dice.weighted([
      [2, false],
      [1, true],
    ] as const)
  )
    turns.push(...dice.weighted(SUBJECTS.filter(([, subject]) => subject !== first))(dice));
  return { system: chosen, turns };
}

/** Two people, what they have and where they are, and two questions. */
function facts(dice: Dice): Turn[] {
  const names = PEOPLE.map(({ name }) => name);
  const first = dice.pick(names);
  const [place, colour, thing] = [dice.pick(PLACES), dice.pick(COLOURS), dice.pick(THINGS)];
  const second = dice.other(names, first);
  const [place2, colour2, thing2] = [dice.other(PLACES, place), dice.other(COLOURS, colour), dice.other(THINGS, thing)];
  const spot = dice.pick(SPOTS);
  const told = [
    `${first} is in the ${place} and has a ${colour} ${thing}.`,
    `${second} is in the ${place2} and has a ${colour2} ${thing2}.`,
    `The ${thing} is ${spot}.`,
  ];
  const questions: (readonly [string, string])[] = [
    [`Where is ${first}?`, `${first} is in the ${place}.`],
    [`Where is ${second}?`, `${second} is in the ${place2}.`],
    [`Who has the ${thing}?`, `${first} has the ${thing}.`],
    [`Who has the ${thing2}?`, `${second} has the ${thing2}.`],
    [`What does ${first} have?`, `${first} has a ${colour} ${thing}.`],
    [`What does ${second} have?`, `${second} has a ${colour2} ${thing2}.`],
    [`Where is the ${thing}?`, `The ${thing} is ${spot}.`],
    [`What colour is the ${thing2}?`, `The ${thing2} is ${colour2}.`],
  ];
  const question = dice.pick(questions);
  return [turn(`${told.join(' ')} ${question[0]}`, question[1]), turn(...dice.other(questions, question))];
}

/** A story and a question that it answers. */
function aboutStory(dice: Dice): Turn[] {
  const { text, questions } = story(dice);
  const [question, answer] = dice.pick(questions);
  return [turn(`${text} ${question}`, answer)];
}

function sums(dice: Dice): Turn[] {
  return Array.from({ length: dice.pick([1, 2, 3]) }, () => {
    const { left, result } = sum(dice);
    return turn(`What is ${left}?`, `${left} = ${result}.`);
  });
}

/** A story that was asked for, and perhaps a question about it. */
function tell(dice: Dice): Turn[] {
  const hero = dice.pick(PEOPLE);
  const { about, text, questions } = dice.pick(PLOTS)(dice, hero);
  const wish = dice.pick([
    `Tell me a story about ${about}.`,
    `Tell me a story about ${hero.name} and ${about}.`,
    `Tell me a story about ${hero.name}.`,
    'Tell me a story.',
  ]);
  const told = turn(wish, text);
  return dice.pick([true, false]) ? [told, turn(...dice.pick(questions))] : [told];
}

function greeting(dice: Dice): Turn[] {
  const hello = dice.pick(['Hello!', 'Good morning!', 'Hi!']);
  const wish = dice.pick(['Who are you?', 'What can you do?']);
  const answers = {
    'Who are you?': 'I am a small model. I was trained on stories and sums.',
    'What can you do?': 'I can tell a story, answer a question about it, and add small numbers.',
  } as const;
  return [turn(hello, `${hello} Shall I tell you a story?`), turn(wish, answers[wish as keyof typeof answers])];
}

const turn = (user: string, assistant: string): Turn => ({ user, assistant });
