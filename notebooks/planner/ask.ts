import type { PlannerQuestion, PlannerReply } from './worker.ts';

type Asked = Omit<PlannerQuestion, 'id'>;

/** Asks the planner's thread. A new round of questions drops those of the last one that are not answered yet. */
export interface Asker {
  begin(): void;
  ask(question: Asked): Promise<PlannerReply>;
}

export function createAsker(onProblem: (message: string) => void): Asker {
  let waiting = new Map<number, (reply: PlannerReply) => void>();
  let next = 0;
  const start = (): Worker => {
    const made = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    made.onmessage = ({ data }: MessageEvent<PlannerReply>) => {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    };
    made.onerror = ({ message }) => onProblem(message);
    return made;
  };
  let worker = start();
  return {
    begin() {
      if (waiting.size === 0) return;
      worker.terminate();
      waiting = new Map();
      worker = start();
    },
    ask(question) {
      const id = next++;
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        worker.postMessage({ ...question, id });
      });
    },
  };
}
