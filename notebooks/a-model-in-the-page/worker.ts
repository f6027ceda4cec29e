import trained from '../../datasets/models/toy.gguf?inline';
import { answerQuestions } from '../lib/worker.ts';
import { randomToy } from './toy.ts';
import { type Setting, write } from './write.ts';

/** The build has the file as a data URL, so that the lesson needs no request for it. */
const base64 = trained.slice(trained.indexOf(',') + 1);
const files = {
  trained: Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)),
  random: randomToy(1),
} as const satisfies Readonly<Record<Setting['weights'], Uint8Array>>;

answerQuestions(({ weights, ...setting }: Setting) => write(files[weights], setting));
