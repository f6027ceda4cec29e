import { formatSeconds, threeDigits } from '../engine/input/format.ts';
import type { Generated } from '../engine/text/generate.ts';
import { perfettoTrace } from '../engine/trace/perfetto.ts';
import type { Trace } from '../engine/trace/trace.ts';
import { type OutputFile, writeOutputFile } from './output-file.ts';

/** Output of the commands that generate text, `hearth generate` and `hearth run`, and their handling of Ctrl-C. */

/** The exit code after Ctrl-C: 128 + SIGINT. */
const INTERRUPTED = 130;

/** Runs `work` with a signal that Ctrl-C aborts; a second Ctrl-C ends the process at once. */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const interrupt = new AbortController();
  const onInterrupt = (): void => interrupt.abort();
  process.once('SIGINT', onInterrupt);
  try {
    return await work(interrupt.signal);
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

/** Sets the exit code of the process if Ctrl-C ended a text. */
export function setExitCode(texts: readonly Generated[]): void {
  if (texts.some(({ reason }) => reason === 'interrupt')) process.exitCode = INTERRUPTED;
}

/** Writes generated text to stdout. */
export function writeText(text: string): void {
  process.stdout.write(process.stdout.isTTY === true ? withoutControls(text) : text);
}

/** Replaces the control characters that a terminal would act on; a model may generate them. */
function withoutControls(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, '\ufffd');
}

/** Writes a text with its tokens and times, and what else is known, to stdout as a line of JSON. */
export function writeJson(model: string, promptTokens: number, generated: Generated, more: object = {}): void {
  const { text, tokens, reason, firstTokenSeconds = null } = generated;
  const times = { firstTokenSeconds, tokensPerSecond: tokensPerSecond(generated) ?? null };
  process.stdout.write(`${JSON.stringify({ model, text, tokens, reason, promptTokens, ...times, ...more })}\n`);
}

/** Writes a line of timings to stderr: `6 prompt tokens, TTFT 12.3 ms, 12 tokens, 31.2 tokens/s`. */
export function writeTimings(promptTokens: number, generated: Generated): void {
  const { tokens, reason, firstTokenSeconds } = generated;
  const rate = tokensPerSecond(generated);
  const parts = [
    `${promptTokens} prompt ${promptTokens === 1 ? 'token' : 'tokens'}`,
    ...(firstTokenSeconds === undefined ? [] : [`TTFT ${formatSeconds(firstTokenSeconds)}`]),
    `${tokens.length} ${tokens.length === 1 ? 'token' : 'tokens'}`,
    ...(rate === undefined ? [] : [`${threeDigits(rate)} tokens/s`]),
    ...(reason === 'interrupt' ? ['interrupted'] : []),
  ];
  process.stderr.write(`${parts.join(', ')}\n`);
}

/** The rate after the first token; `undefined` for a text of at most one. */
function tokensPerSecond({ tokens, laterSeconds }: Generated): number | undefined {
  return laterSeconds > 0 ? (tokens.length - 1) / laterSeconds : undefined;
}

/**
 * Writes a trace for ui.perfetto.dev.
 * @param more `startedAt`: when the trace began, in seconds since 1970; `routing`: which experts tokens used, for
 *   `parseRoutings`
 * @throws InputError for a path at which it can't be written
 */
export function writeTrace(
  file: OutputFile,
  trace: Trace,
  { startedAt, routing }: { readonly startedAt?: number; readonly routing?: object | undefined } = {},
): void {
  const other = startedAt !== undefined && { otherData: { startedAt } };
  writeOutputFile(file, JSON.stringify({ ...perfettoTrace(trace), ...other, ...routing }));
}
