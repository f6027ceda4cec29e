import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** A process that renders a chat template (Jinja) within bounds. */
export interface TemplateProcess {
  /** Renders; may be called once. @throws TemplateError with the reason */
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

type Answer = { readonly text: string } | Pick<TemplateError, 'kind' | 'message'>;

/** Exit codes of V8 for a full heap: abort(), also as reported by Node if it catches that, and on Windows. */
const ABORTED: readonly (number | string)[] = ['SIGABRT', 134];

/**
 * Starts the process, which takes about 60 ms of processor time while the caller continues. It is a process rather than
 * a thread because V8 ends the whole process when a template exceeds a thread's memory.
 */
export function startTemplateProcess(): TemplateProcess {
  const { seconds, answerSeconds, memory } = TEMPLATE_BOUNDS;
  const heap = `--max-old-space-size=${memory / 2 ** 20}`;
  const child = spawn(process.execPath, [heap, join(import.meta.dirname, 'render-template.cjs')], {
    stdio: ['pipe', 'pipe', 'ignore'], // discards V8's long message when it aborts
    env: { ...process.env, NODE_OPTIONS: '' }, // without loaders, which take time
  });
  const ended = new Promise<number | string>((resolve) => {
    child
      .once('close', (code, signal) => resolve(signal ?? code ?? 0))
      .once('error', ({ message }) => resolve(message));
  });
  child.stdin.on('error', () => {}); // the process may end before it has read
  const close = (): void => {
    child.kill('SIGKILL');
  };
  return {
    close,
    async render(source, values) {
      const found = `its source has ${source.length} characters`;
      if (source.length > TEMPLATE_BOUNDS.source)
        throw new TemplateError('unbounded', `${found}; at most ${TEMPLATE_BOUNDS.source} are read`);
      const mostCharacters = TEMPLATE_BOUNDS.written + 4 * JSON.stringify(values).length;
      let late = false;
      const deadline = setTimeout(() => {
        late = true;
        close();
      }, 1000 * answerSeconds);
      try {
        child.stdin.end(JSON.stringify({ source, values, mostCharacters, mostSeconds: seconds }));
        const [written, end] = await Promise.all([text(child.stdout).catch(() => ''), ended]);
        if (late) throw new TemplateError('unbounded', `its process does not answer within ${answerSeconds} s`);
        if (ABORTED.includes(end))
          throw new TemplateError('unbounded', `it needs more than ${memory / 2 ** 20} MiB of memory`);
        if (end !== 0) throw new TemplateError('unbounded', `its process ended with ${end}`);
        const answer = JSON.parse(written) as Answer;
        if ('text' in answer) return answer.text;
        throw new TemplateError(answer.kind, answer.message);
      } finally {
        clearTimeout(deadline);
      }
    },
  };
}
