import { errorLine } from '../input/error-line.ts';
import { InputError } from '../input/input-error.ts';
import { GrammarError } from '../text/grammar/grammar.ts';

/** A request that isn't answered, and why: the message is one line for the client. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  /**
   * @param status of HTTP
   * @param param the parameter at fault, if one is
   * @param code for programs, such as `unsupported_parameter`
   */
  constructor(
    readonly status: number,
    message: string,
    readonly param: string | null = null,
    readonly code: string | null = null,
  ) {
    // Messages quote clients, with whatever characters they wrote.
    super(errorLine(message));
  }
}

/** For what a stopping server didn't end. */
export const STOPPED = new ApiError(503, 'the server is stopping', null, 'stopping');

/** Error as reported to clients. Its own message is for the server's log, since it names files and devices. */
export function answeredError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof GrammarError) return new ApiError(400, error.message, null, 'invalid_value');
  // For instance, a ring can't do without the lost device.
  if (error instanceof InputError)
    return new ApiError(503, 'the server can’t compute now; its log says why', null, 'unavailable');
  return new ApiError(500, 'the server failed; its log says why');
}

/** How an API writes an error. */
export type ErrorForm = (error: ApiError) => object;

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

/** `{error: {message, type, param, code}}`, as OpenAI's API answers. */
export const openAiError: ErrorForm = ({ status, message, param, code }) => {
  const type = OPENAI_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { message, type, param, code } };
};

/** `{error}`, as Ollama's API answers. */
export const ollamaError: ErrorForm = ({ message }) => ({ error: message });

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** `{type: 'error', error: {type, message}}`, as Anthropic's API answers. */
export const anthropicError: ErrorForm = ({ status, message }) => {
  const type = ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message } };
};
