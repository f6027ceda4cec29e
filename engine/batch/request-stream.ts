import { InputError } from '../input/input-error.ts';
import { type CsvRow, parseCsv } from '../input/parse-csv.ts';
import { randomStream } from '../input/random-stream.ts';

/** A request to a server, as a log has it. */
export interface StreamedRequest {
  /** Seconds from the beginning of the stream. */
  readonly arrival: number;
  /** At least one. */
  readonly promptTokens: number;
  /** Tokens to generate, at least one. */
  readonly outputTokens: number;
  /** Its prompt's first tokens are those of all requests with a prefix of this name. */
  readonly prefix?: { readonly name: string; readonly tokens: number };
}

/** Least and most tokens, both included; log-uniform between them. */
export type TokenRange = readonly [least: number, most: number];

/** A Poisson stream of requests of one size. */
export interface PoissonCase {
  readonly seed: number;
  /** Requests per second. */
  readonly rate: number;
  readonly requests: number;
  readonly promptTokens: TokenRange;
  readonly outputTokens: TokenRange;
}

/**
 * Requests that arrive independently of one another: gaps are exponential with mean 1 / rate. Lengths are the same for
 * every rate.
 */
export function poissonRequests(asked: PoissonCase): StreamedRequest[] {
  const [gaps, lengths] = [randomStream(asked.seed, 'arrivals'), randomStream(asked.seed, 'lengths')];
  const draw = ([least, most]: TokenRange): number => Math.floor(lengths.logUniform(least, most + 1));
  let arrival = 0;
  return Array.from({ length: asked.requests }, () => {
    arrival += gaps.exponential() / asked.rate;
    return { arrival, promptTokens: draw(asked.promptTokens), outputTokens: draw(asked.outputTokens) };
  });
}

const COLUMNS = ['arrival', 'prompt', 'output'] as const;
const PREFIX_COLUMNS = ['prefix', 'prefixTokens'] as const;

/**
 * Reads requests from CSV: `arrival` in seconds, in ascending order, `prompt` and `output` in tokens, and, for prompts
 * that begin alike, `prefix`, a name that they have in common, and `prefixTokens`, the length of that beginning.
 * @throws InputError with the file, row and column of what is wrong
 */
export function parseRequests(text: string, file: string): StreamedRequest[] {
  const withPrefix = /^[^\n]*prefix/.test(text);
  const rows = parseCsv(text, file, withPrefix ? [...COLUMNS, ...PREFIX_COLUMNS] : COLUMNS);
  if (rows.length === 0) throw new InputError(file, 'has no requests; give a row for each');
  let before = 0;
  return rows.map((row) => {
    const where = row.where('arrival');
    const arrival = Number(row.cell('arrival') || Number.NaN);
    if (!(Number.isFinite(arrival) && arrival >= before))
      throw new InputError(where, `"${row.cell('arrival')}" is not a time in seconds, at or after the row before`);
    before = arrival;
    const request = { arrival, promptTokens: tokensOf(row, 'prompt'), outputTokens: tokensOf(row, 'output') };
    return withPrefix ? withItsPrefix(request, row) : request;
  });
}

type Row = CsvRow<(typeof COLUMNS)[number] | (typeof PREFIX_COLUMNS)[number]>;

function withItsPrefix(request: StreamedRequest, row: Row): StreamedRequest {
  const name = row.cell('prefix');
  if (name === '') return request;
  const tokens = tokensOf(row, 'prefixTokens');
  if (tokens > request.promptTokens)
    throw new InputError(row.where('prefixTokens'), `${tokens} is more than the prompt, ${request.promptTokens}`);
  return { ...request, prefix: { name, tokens } };
}

function tokensOf(row: Row, column: 'prompt' | 'output' | 'prefixTokens'): number {
  const found = row.cell(column);
  const tokens = Number(found || Number.NaN);
  if (!(Number.isInteger(tokens) && tokens >= 1 && tokens <= 1e7))
    throw new InputError(row.where(column), `"${found}" is not a whole number of tokens from 1 to 10000000`);
  return tokens;
}

/** Random tokens of the prompt of request number `index`; those of a prefix depend on its name only. */
export function promptOf({ promptTokens, prefix }: StreamedRequest, index: number, vocabularySize: number): number[] {
  const [common, own] = [randomStream(0, `prefix ${prefix?.name}`), randomStream(0, `request ${index}`)];
  return Array.from({ length: promptTokens }, (_, at) =>
    (at < (prefix?.tokens ?? 0) ? common : own).integer(0, vocabularySize - 1),
  );
}
