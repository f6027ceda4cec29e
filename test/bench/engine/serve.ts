import type { Answer, Contestant, Request, Task, Turn } from './contestant.ts';
import { memoryUse } from './memory-use.ts';

/** Prompt tokens of each of several texts. */
const REQUEST_PROMPT = 16;

/** Runs in the child: loads a contestant, then serves the parent's requests one at a time until it is ended. */
export async function serve(load: (task: Task) => Promise<Contestant>): Promise<void> {
  const answer = (message: Answer): void => void process.send?.(message);
  const fail = (error: unknown): void =>
    answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  try {
    const before = memoryUse();
    const task = JSON.parse(process.argv[2] ?? '{}') as Task;
    const contestant = await load(task);
    process.on('message', (request: Request) => {
      perform(contestant, request, task).then(answer, fail);
    });
    process.on('disconnect', () => process.exit());
    answer({ kind: 'ready', description: contestant.description, before });
  } catch (error) {
    fail(error);
  }
}

async function perform(contestant: Contestant, request: Request, { vocabulary = 31_000 }: Task): Promise<Answer> {
  switch (request.kind) {
    case 'prefill':
      return { kind: 'turn', turn: await timed(() => contestant.prefill(someTokens(request.tokens, vocabulary))) };
    case 'decode':
      return { kind: 'turn', turn: await timed(() => contestant.decode(request.tokens)) };
    case 'requests': {
      if (contestant.begin === undefined) throw new Error('this contestant has one text at a time');
      const prompts = Array.from({ length: request.requests }, (_, text) =>
        someTokens(REQUEST_PROMPT, vocabulary, text),
      );
      return { kind: 'turn', turn: await timed(await contestant.begin(prompts, request.tokens)) };
    }
    case 'memory':
      return { kind: 'memory', memory: memoryUse() };
    case 'limits':
      if (contestant.limits === undefined) throw new Error('this contestant knows no limits');
      return { kind: 'limits', limits: await contestant.limits(request.of) };
  }
}

/** Tokens for both engines; their values don't matter, since the weights are random, but texts differ. */
function someTokens(count: number, vocabulary: number, text = 0): number[] {
  return Array.from({ length: count }, (_, index) => (7919 * index + 131 * text + 1) % vocabulary);
}

async function timed(run: () => Promise<void>): Promise<Turn> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - start) / 1e3, processorSeconds: (user + system) / 1e6 };
}
