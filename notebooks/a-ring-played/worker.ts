import { answerQuestions } from '../lib/worker.ts';
import { playRing, type RingSetting } from './ring.ts';

answerQuestions((setting: RingSetting) => playRing(setting));
