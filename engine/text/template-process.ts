import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** A process that renders chat templates (Jinja) within bounds. */
export interface TemplateProcess {
  /**
   * Renders. Called again only after the last text is there or was refused; a process that a template has ended is
   * followed by another one.
   * @throws TemplateError with the reason
   */
  render(source: string, values: Readonly<Record<string, unknown>>): Promise<string>;
  /** Ends the process; may be called again. */
  close(): void;
}

/**
 * A template could not be rendered: it has a mistake or rejects its input (`refused`), or it exceeded a bound
 * (`unbounded`).
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';

  constructor(
    readonly kind: 'refused' | 'unbounded',
    reason: string,
  ) {
    super(reason);
  }
}

/**
 * Bounds of a template: a hundred times the needs of common models (a few kB, milliseconds, a few hundred characters
 * around the messages). A single string may exceed the memory before V8 checks; it has at most 2²⁹ characters.
 */
export const TEMPLATE_BOUNDS = {
  /** Characters of its source. */
  source: 2 ** 18,
  /** Output characters in addition to four times the input. */
  written: 2 ** 18,
  /** Time limit of rendering, which the process keeps by itself. */
  seconds: 5,
  /** Time limit of its answer, in which it may also have to start on a busy machine. */
  answerSeconds: 30,
  /** Bytes of values and texts. */
  memory: 128 * 2 ** 20,
} as const;

type Answer = { readonly text: string } | Refusal;

interface Refusal extends Pick<TemplateError, 'kind' | 'message'> {
  /** Whether the template was interrupted, which leaves the process in an unknown state. */
  readonly isInterrupted?: true;
}

/** Exit codes of V8 for a full heap: abort(), also as reported by Node if it catches that, and on Windows. */
const ABORTED: readonly (number | string)[] = ['SIGABRT', 134];

/**
 * Starts the process, which takes about 60 ms of processor time while the caller continues. It is a process rather than
 * a thread because V8 ends the whole process when a template exceeds a thread's memory.
 */
export function startTemplateProcess(): TemplateProcess {
  const { answerSeconds, memory } = TEMPLATE_BOUNDS;
  let child = startChild();
  let isClosed = false;
  return {
    close() {
      isClosed = true;
      child.kill();
    },
    async render(source, values) {
      const found = `its source has ${source.length} characters`;
      if (source.length > TEMPLATE_BOUNDS.source)
        throw new TemplateError('unbounded', `${found}; at most ${TEMPLATE_BOUNDS.source} are read`);
      if (child.hasEnded && !isClosed) child = startChild();
      const mostCharacters = TEMPLATE_BOUNDS.written + 4 * JSON.stringify(values).length;
      let late = false;
      const deadline = setTimeout(() => {
        late = true;
        child.kill();
      }, 1000 * answerSeconds);
      try {
        const said = await child.ask({ source, values, mostCharacters, mostSeconds: TEMPLATE_BOUNDS.seconds });
        if (late) throw new TemplateError('unbounded', `its process does not answer within ${answerSeconds} s`);
        if ('end' in said) {
          if (ABORTED.includes(said.end))
            throw new TemplateError('unbounded', `it needs more than ${memory / 2 ** 20} MiB of memory`);
          throw new TemplateError('unbounded', `its process ended with ${said.end}`);
        }
        const answer = JSON.parse(said.line) as Answer;
        if ('text' in answer) return answer.text;
        if (answer.isInterrupted === true && !isClosed) {
          child.kill();
          child = startChild();
        }
        throw new TemplateError(answer.kind, answer.message);
      } finally {
        clearTimeout(deadline);
      }
    },
  };
}

interface Child {
  readonly hasEnded: boolean;
  /** Sends a line of JSON. @returns the line that answers it, or how the process ended */
  ask(question: object): Promise<{ readonly line: string } | { readonly end: number | string }>;
  kill(): void;
}

function startChild(): Child {
  const heap = `--max-old-space-size=${TEMPLATE_BOUNDS.memory / 2 ** 20}`;
  const child = spawn(process.execPath, [heap, join(import.meta.dirname, 'template/render-template.cjs')], {
    stdio: ['pipe', 'pipe', 'ignore'], // discards V8's long message when it aborts
    env: { ...process.env, NODE_OPTIONS: '' }, // without loaders, which take time
  });
  let hasEnded = false;
  const ended = new Promise<{ readonly end: number | string }>((resolve) => {
    const end = (how: number | string): void => {
      hasEnded = true;
      resolve({ end: how });
    };
    child.once('close', (code, signal) => end(signal ?? code ?? 0)).once('error', ({ message }) => end(message));
  });
  child.stdin.on('error', () => {}); // the process may end before it has read
  let onLine: (answer: { readonly line: string }) => void = () => {};
  const parts: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    parts.push(part);
    if (part.endsWith('\n')) onLine({ line: parts.splice(0).join('') });
  });
  return {
    get hasEnded() {
      return hasEnded;
    },
    ask(question) {
      const answered = new Promise<{ readonly line: string }>((resolve) => {
        onLine = resolve;
      });
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return Promise.race([answered, ended]);
    },
    kill() {
      child.kill('SIGKILL');
    },
  };
}
