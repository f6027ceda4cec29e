import type { Dice } from './dice.ts';
import {
  ANIMALS,
  BEGINNINGS,
  COLOURS,
  capital,
  ENDINGS,
  FRUITS,
  PEOPLE,
  type Person,
  PLACES,
  SPOTS,
  THINGS,
} from './words.ts';

/** Subject of a story, in the words in which somebody would ask for it. */
export interface Story {
  readonly about: string;
  readonly text: string;
  /** Questions that the story answers, with their answers. */
  readonly questions: readonly (readonly [question: string, answer: string])[];
}

/** Each tells a story of 60 to 100 tokens about its hero. */
export const PLOTS: readonly ((dice: Dice, hero: Person) => Story)[] = [
  ...[lost, gift, rain, pet, race, sharing],
  ...[shopping, baking, night, chest, tower],
];

/** Any story. */
export function story(dice: Dice): Story {
  const plot = dice.pick(PLOTS);
  return plot(dice, dice.pick(PEOPLE));
}

function friendOf(dice: Dice, hero: Person): Person {
  return dice.other(PEOPLE, hero);
}

function lost(dice: Dice, hero: Person): Story {
  const { name, he, his } = hero;
  const [colour, thing, place] = [dice.pick(COLOURS), dice.pick(THINGS), dice.pick(PLACES)];
  const begin = `${dice.pick(BEGINNINGS)}, ${name} lost ${his} ${colour} ${thing}.`;
  const friend = friendOf(dice, hero).name;
  const spot = dice.pick(SPOTS);
  const wrong = dice.other(SPOTS, spot);
  const asked = dice.pick(['asked', 'cried']);
  const text = [
    `${begin} ${capital(he)} went to the ${place} with ${friend}.`,
    `"Where is my ${thing}?" ${asked} ${name}. ${friend} looked ${wrong}. The ${thing} was not there.`,
    `Then ${friend} looked ${spot}. There was the ${colour} ${thing}!`,
    `"Thank you, ${friend}," said ${name}. ${dice.pick(ENDINGS)}`,
  ];
  return {
    about: `a lost ${thing}`,
    text: text.join(' '),
    questions: [
      [`Who found the ${thing}?`, `${friend} found the ${thing}.`],
      [`Where was the ${thing}?`, `The ${thing} was ${spot}.`],
      [`What did ${name} lose?`, `${name} lost ${his} ${colour} ${thing}.`],
    ],
  };
}

function gift(dice: Dice, hero: Person): Story {
  const { name, he } = hero;
  const begin = `${dice.pick(BEGINNINGS)}, ${name} went to the ${dice.pick(PLACES)}.`;
  const friend = friendOf(dice, hero);
  const [colour, thing] = [dice.pick(COLOURS), dice.pick(THINGS)];
  const other = dice.other(COLOURS, colour);
  const wanted = dice.pick(['a present', 'something nice']);
  const text = [
    `${begin} ${capital(he)} wanted ${wanted} for ${friend.name}. ${capital(he)} saw a ${colour} ${thing} and a ${other} ${thing}.`,
    `"${friend.name} likes ${colour}," said ${name}, and ${he} took the ${colour} ${thing}.`,
    `${friend.name} opened the present. "A ${colour} ${thing}!" said ${friend.name}. "Thank you, ${name}!"`,
    dice.pick(ENDINGS),
  ];
  return {
    about: 'a present',
    text: text.join(' '),
    questions: [
      [`What did ${name} give ${friend.name}?`, `${name} gave ${friend.name} a ${colour} ${thing}.`],
      [`Who likes ${colour}?`, `${friend.name} likes ${colour}.`],
    ],
  };
}

function rain(dice: Dice, hero: Person): Story {
  const { name, he, his } = hero;
  const begin = dice.pick(BEGINNINGS);
  const friend = friendOf(dice, hero).name;
  const place = dice.pick(PLACES);
  const game = dice.pick(['played', 'sang', 'ran', 'sat']);
  const shelter = dice.pick(['a big tree', 'a small house', 'an old bridge', 'a long table']);
  const colour = dice.pick(COLOURS);
  const garment = dice.pick(['hat', 'coat']);
  const text = [
    `${begin}, ${name} and ${friend} ${game} in the ${place}. Then it began to rain.`,
    `"I am wet," said ${friend}. "Come with me," said ${name}. They ran to ${shelter}.`,
    `${name} had a ${colour} ${garment}, and ${he} gave ${friend} ${his} ${garment}.`,
    `Soon the sun came out. "Thank you for the ${garment}, ${name}," said ${friend}. ${dice.pick(ENDINGS)}`,
  ];
  return {
    about: 'the rain',
    text: text.join(' '),
    questions: [
      [`Where did they run?`, `They ran to ${shelter}.`],
      [`What did ${name} have?`, `${name} had a ${colour} ${garment}.`],
      [`Who was wet?`, `${friend} was wet.`],
    ],
  };
}

function pet(dice: Dice, { name, his, he }: Person): Story {
  const [animal, colour] = [dice.pick(ANIMALS), dice.pick(COLOURS)];
  const called = dice.pick(['Pip', 'Bella', 'Star', 'Coco']);
  const begin = dice.pick(BEGINNINGS);
  const [place, spot] = [dice.pick(PLACES), dice.pick(SPOTS)];
  const reason = dice.pick(['hungry', 'tired', 'cold', 'afraid']);
  const help: Record<string, string> = {
    hungry: 'gave it some food',
    tired: 'let it sleep',
    cold: 'made it warm',
    afraid: `held it in ${his} arms`,
  };
  const text = [
    `${name} had a ${colour} ${animal}. The ${animal} was called ${called}.`,
    `${begin}, ${called} ran away to the ${place}. "${called}! ${called}!" called ${name}.`,
    `${called} was ${spot}. The ${animal} was ${reason}, and ${name} ${help[reason]}.`,
    `"You are a good ${animal}, ${called}," said ${name}, and ${he} took ${called} home.`,
  ];
  return {
    about: `a ${animal}`,
    text: text.join(' '),
    questions: [
      [`Where was ${called}?`, `${called} was ${spot}.`],
      [`Who is ${called}?`, `${called} is a ${colour} ${animal}.`],
      [`Who had a ${animal}?`, `${name} had a ${animal}.`],
    ],
  };
}

function race(dice: Dice, hero: Person): Story {
  const { name, he } = hero;
  const begin = dice.pick(BEGINNINGS);
  const friend = friendOf(dice, hero).name;
  const goal = dice.pick(PLACES);
  const fell = dice.pick(['fell', 'lost a shoe', 'got tired']);
  const stopped = dice.pick([true, false]);
  const middle = stopped
    ? `${name} stopped and helped ${friend}. They came to the ${goal} together.`
    : `${name} ran on and came to the ${goal} first. "I won!" said ${name}.`;
  const text = [
    `${begin}, ${name} and ${friend} ran a race to the ${goal}. "I am fast," said ${name}. "I am fast too," said ${friend}.`,
    `They ran and ran. Then ${friend} ${fell}. ${middle}`,
    stopped
      ? `"You are kind, ${name}," said ${friend}.`
      : `"You are fast, ${name}," said ${friend}, and ${he} was glad.`,
    dice.pick(ENDINGS),
  ];
  return {
    about: 'a race',
    text: text.join(' '),
    questions: [
      [`Where did they run?`, `They ran to the ${goal}.`],
      [`Who ${fell}?`, `${friend} ${fell}.`],
      [`Who came first?`, stopped ? 'They came together.' : `${name} came first.`],
    ],
  };
}

function sharing(dice: Dice, hero: Person): Story {
  const { name, he } = hero;
  const begin = dice.pick(BEGINNINGS);
  const fruit = dice.pick(FRUITS);
  const had = dice.number(4, 9);
  const given = dice.number(2, had - 2);
  const friend = friendOf(dice, hero).name;
  const place = dice.pick(PLACES);
  const left = had - given;
  const text = [
    `${begin}, ${name} had ${had} ${fruit}. In the ${place} ${he} met ${friend}.`,
    `"I have no ${fruit}," said ${friend}. ${name} gave ${friend} ${given} ${fruit}.`,
    `${had} - ${given} = ${left}, so ${name} now had ${left} ${fruit} and ${friend} had ${given} ${fruit}.`,
    `"Thank you, ${name}," said ${friend}. ${dice.pick(ENDINGS)}`,
  ];
  return {
    about: fruit,
    text: text.join(' '),
    questions: [
      [`How many ${fruit} did ${name} have at first?`, `${name} had ${had} ${fruit}.`],
      [`How many ${fruit} has ${friend}?`, `${friend} has ${given} ${fruit}.`],
      [`How many ${fruit} has ${name} now?`, `${name} has ${left} ${fruit}.`],
    ],
  };
}

function shopping(dice: Dice, { name, he }: Person): Story {
  const begin = dice.pick(BEGINNINGS);
  const coins = dice.number(5, 9);
  const [first, place] = [dice.pick(THINGS), dice.pick(PLACES)];
  const price = dice.number(2, coins - 1);
  const second = dice.other(THINGS, first);
  const dear = dice.number(coins + 1, 10);
  const colour = dice.pick(COLOURS);
  const left = coins - price;
  const text = [
    `${begin}, ${name} went to a shop in the ${place} with ${coins} coins.`,
    `A ${first} was ${price} coins and a ${second} was ${dear} coins. "The ${second} is too dear for me," said ${name}.`,
    `So ${he} took a ${colour} ${first}. ${coins} - ${price} = ${left}, so ${name} had ${left} coins left.`,
    `"I like my ${colour} ${first}," said ${name}, and ${he} went home.`,
  ];
  return {
    about: 'a shop',
    text: text.join(' '),
    questions: [
      [`What did ${name} take?`, `${name} took a ${colour} ${first}.`],
      [`How many coins has ${name} left?`, `${name} has ${left} coins left.`],
      [`How many coins was the ${second}?`, `The ${second} was ${dear} coins.`],
    ],
  };
}

function baking(dice: Dice, hero: Person): Story {
  const { name, he } = hero;
  const begin = dice.pick(BEGINNINGS);
  const friend = friendOf(dice, hero).name;
  const dish = dice.pick(['a cake', 'some bread', 'a soup', 'a pie']);
  const [first, taste] = [dice.pick(FRUITS), dice.pick(['sweet', 'salty', 'hot', 'good'])];
  const second = dice.other(FRUITS, first);
  const guest = dice.other(PEOPLE, hero, ...PEOPLE.filter((person) => person.name === friend)).name;
  const text = [
    `${begin}, ${name} and ${friend} made ${dish}. ${name} brought ${first} and ${friend} brought ${second}.`,
    `"May I help?" asked ${guest}. "Yes, ${guest}," said ${name}, and ${he} gave ${guest} a spoon.`,
    `Soon it was ready. "It is ${taste}!" said ${guest}. ${dice.pick(ENDINGS)}`,
  ];
  return {
    about: dish,
    text: text.join(' '),
    questions: [
      [`What did they make?`, `They made ${dish}.`],
      [`Who brought ${second}?`, `${friend} brought ${second}.`],
      [`What did ${name} bring?`, `${name} brought ${first}.`],
      [`Who wanted to help?`, `${guest} wanted to help.`],
    ],
  };
}

function night(dice: Dice, { name, he, his }: Person): Story {
  const parent = dice.pick(['mother', 'father', 'sister', 'brother']);
  const [animal, place] = [dice.pick(ANIMALS), dice.pick(PLACES)];
  const noise = dice.pick(['a noise', 'a song', 'a voice']);
  const gave = dice.pick(['a kiss', 'some milk', 'a light']);
  const text = [
    `It was night, and ${name} could not sleep. ${capital(he)} heard ${noise} in the ${place}.`,
    `"I am afraid," said ${name}. ${capital(his)} ${parent} went to the ${place} and looked. It was only a ${animal}.`,
    `"It is only a ${animal}, ${name}," said ${his} ${parent}. "The ${animal} is looking for food."`,
    `${capital(his)} ${parent} gave ${name} ${gave}. Then ${name} was not afraid, and ${he} slept well.`,
  ];
  return {
    about: 'the night',
    text: text.join(' '),
    questions: [
      [`What was in the ${place}?`, `A ${animal} was in the ${place}.`],
      [`Who could not sleep?`, `${name} could not sleep.`],
      [`Who looked?`, `${capital(his)} ${parent} looked.`],
    ],
  };
}

function chest(dice: Dice, hero: Person): Story {
  const { name, he } = hero;
  const begin = dice.pick(BEGINNINGS);
  const [colour, place, spot] = [dice.pick(COLOURS), dice.pick(PLACES), dice.pick(SPOTS)];
  const friend = friendOf(dice, hero).name;
  const guess = dice.pick(THINGS);
  const thing = dice.other(THINGS, guess);
  const end = dice.pick(['They shared it.', 'They took it home.', 'They hid it again.']);
  const text = [
    `${begin}, ${name} found a ${colour} chest in the ${place}. It was ${spot}. "What is in the chest?" asked ${friend}.`,
    `"I think it is a ${guess}," said ${name}. ${friend} opened the ${colour} chest.`,
    `It was not a ${guess}. It was an old ${thing}! "An old ${thing}!" said ${friend}. ${end}`,
    `"I will never forget that ${thing}," said ${name}, and ${he} smiled.`,
  ];
  return {
    about: 'a chest',
    text: text.join(' '),
    questions: [
      [`What was in the chest?`, `An old ${thing} was in the chest.`],
      [`Where was the chest?`, `The chest was ${spot} in the ${place}.`],
      [`Who opened the chest?`, `${friend} opened the chest.`],
    ],
  };
}

function tower(dice: Dice, hero: Person): Story {
  const { name, he } = hero;
  const begin = dice.pick(BEGINNINGS);
  const friend = friendOf(dice, hero).name;
  const own = dice.number(2, 6);
  const more = dice.number(2, 4);
  const colour = dice.pick(COLOURS);
  const culprit = dice.pick(['the wind', ...ANIMALS.map((animal) => `a ${animal}`)]);
  const text = [
    `${begin}, ${name} and ${friend} built a ${colour} tower. ${name} had ${own} stones and ${friend} had ${more} stones.`,
    `${own} + ${more} = ${own + more}, so the tower had ${own + more} stones. "It is high!" said ${friend}.`,
    `Then ${culprit} came, and the ${colour} tower fell. "Oh no!" said ${name}.`,
    `"We can build it again, ${name}," said ${friend}, and ${he} was glad. ${dice.pick(ENDINGS)}`,
  ];
  return {
    about: 'a tower',
    text: text.join(' '),
    questions: [
      [`How many stones had the tower?`, `The tower had ${own + more} stones.`],
      [`Why did the tower fall?`, `The tower fell because ${culprit} came.`],
      [`Who had ${own} stones?`, own === more ? `${name} and ${friend}.` : `${name} had ${own} stones.`],
    ],
  };
}
