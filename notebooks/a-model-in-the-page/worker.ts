import { answerQuestions } from '../lib/worker.ts';
import { randomToy } from './toy.ts';
import { type Setting, write } from './write.ts';

const file = randomToy(1);
answerQuestions((setting: Setting) => write(file, setting));
