/** A question on its way to a lesson's thread, and the reply to it. */
interface Asked<Question> {
  readonly id: number;
  readonly question: Question;
}
type Replied<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly problem: string };

/**
 * Asks a thread, which answers one question at a time. Of the questions that arrive meanwhile only the latest is kept,
 * so that a slider that is dragged doesn't queue up work; promises of the others are never settled.
 */
export function askLatest<Question, Answer>(start: () => Worker): (question: Question) => Promise<Answer> {
  interface Waiting extends Asked<Question> {
    resolve(answer: Answer): void;
    reject(problem: Error): void;
  }
  let worker: Worker | undefined;
  let running: Waiting | undefined;
  let latest: Waiting | undefined;
  let next = 0;
  const send = (one: Waiting): void => {
    running = one;
    worker ??= started();
    worker.postMessage({ id: one.id, question: one.question } satisfies Asked<Question>);
  };
  const finish = (settle: (one: Waiting) => void): void => {
    const one = running;
    running = undefined;
    if (one !== undefined) settle(one);
    if (latest === undefined) return;
    const waiting = latest;
    latest = undefined;
    send(waiting);
  };
  const started = (): Worker => {
    const made = start();
    made.onmessage = ({ data }: MessageEvent<Replied<Answer>>) =>
      finish(({ resolve, reject }) =>
        'problem' in data ? reject(new RangeError(data.problem)) : resolve(data.answer),
      );
    made.onerror = ({ message }) => finish(({ reject }) => reject(new Error(message)));
    return made;
  };
  return (question) =>
    new Promise((resolve, reject) => {
      const one = { id: next++, question, resolve, reject };
      if (running === undefined) send(one);
      else latest = one;
    });
}

/** Answers the questions of `askLatest`; called once in a thread. */
export function answerQuestions<Question, Answer>(answer: (question: Question) => Answer | Promise<Answer>): void {
  self.onmessage = async ({ data: { id, question } }: MessageEvent<Asked<Question>>): Promise<void> => {
    self.postMessage(await reply(id, () => answer(question)));
  };
}

async function reply<Answer>(id: number, answer: () => Answer | Promise<Answer>): Promise<Replied<Answer>> {
  try {
    return { id, answer: await answer() };
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message : String(error) };
  }
}
