import { answerQuestions } from '../lib/worker.ts';
import { everyRounds, type Setting } from './scene.ts';

answerQuestions((setting: Setting) => everyRounds(setting));
