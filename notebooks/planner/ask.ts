import type { PlannerQuestion, PlannerReply } from './worker.ts';

type Asked = Omit<PlannerQuestion, 'id'>;

/** Asks the planner's threads. A new round of questions drops those of the last one that are not answered yet. */
export interface Asker {
  begin(): void;
  ask(question: Asked): Promise<PlannerReply>;
}

/** A thread, and what it has been asked. */
interface Thread {
  readonly worker: Worker;
  readonly waiting: Map<number, (reply: PlannerReply) => void>;
}

/** More threads than this take longer to load than they save. */
const MOST_THREADS = 4;

export function createAsker(onProblem: (message: string) => void): Asker {
  let next = 0;
  const start = (): Thread => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    const waiting: Thread['waiting'] = new Map();
    worker.onmessage = ({ data }: MessageEvent<PlannerReply>) => {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    };
    worker.onerror = ({ message }) => onProblem(message);
    return { worker, waiting };
  };
  const count = Math.max(1, Math.min(MOST_THREADS, navigator.hardwareConcurrency - 1));
  let threads = Array.from({ length: count }, start);
  return {
    begin() {
      threads = threads.map((thread) => {
        if (thread.waiting.size === 0) return thread;
        thread.worker.terminate();
        return start();
      });
    },
    ask(question) {
      const id = next++;
      const free = threads.reduce((least, one) => (one.waiting.size < least.waiting.size ? one : least));
      return new Promise((resolve) => {
        free.waiting.set(id, resolve);
        free.worker.postMessage({ ...question, id });
      });
    },
  };
}
