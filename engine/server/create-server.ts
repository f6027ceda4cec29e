import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { formatBytes } from '../input/format.ts';
import { InputError } from '../input/input-error.ts';
import { accessCheck, type CheckAccess } from './access.ts';
import { type Admission, createAdmission, type Place } from './admission.ts';
import type { Answered, Asked } from './answer-form.ts';
import { ApiError, answeredError, anthropicError, ollamaError, openAiError } from './api-error.ts';
import { type ConnectionLimits, createConnections } from './connections.ts';
import { askChat } from './forms/chat.ts';
import { askCompletion } from './forms/completions.ts';
import { askEmbeddings, embed } from './forms/embeddings.ts';
import { askInfill } from './forms/infill.ts';
import { askMessage, countMessageTokens } from './forms/messages.ts';
import { askOllamaChat, askOllamaText } from './forms/ollama.ts';
import { askOllamaEmbedding, askOllamaEmbeddings, ollamaEmbed, ollamaEmbedding } from './forms/ollama-model.ts';
import { askResponse } from './forms/responses.ts';
import { detokenize, tokenize, tokenizerInfo } from './forms/tokenize.ts';
import { jsonPieces } from './json-pieces.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { addOllamaFacts, OLLAMA_FACTS } from './ollama-routes.ts';
import { PAGE_PATHS, readPage } from './page-files.ts';
import { readJsonInTurns } from './read-json.ts';
import type { ServedModel } from './served-model.ts';
import { MOST_AT_ONCE } from './text-request.ts';
import { writeTexts } from './write-texts.ts';

export interface ServerOptions extends ConnectionLimits {
  readonly model: ServedModel;
  /** Key that requests need; `undefined`: anyone who reaches the server may use it. */
  readonly key: string | undefined;
  /** Most texts that run and wait. */
  readonly mostTexts: number;
  readonly mostBodyBytes: number;
  /** The origin whose pages may use the server from a browser, or `*`; `undefined`: none but its own. */
  readonly cors?: string | undefined;
  /** Called with each defect. */
  readonly log: (line: string) => void;
}

export interface HttpServer {
  /** Method and path of every endpoint, such as `GET /health`. */
  readonly routes: readonly string[];
  /** Begins to listen. @returns the port. @throws the operating system's error */
  listen(host: string, port: number): Promise<number>;
  /** Stops accepting requests, cancels those still running after `seconds`, and closes all connections. */
  stop(seconds: number): Promise<void>;
}

type AskText = (model: ServedModel, body: unknown, signal: AbortSignal) => Promise<Asked | Answered>;

/** Endpoints that write texts: how their requests are read. */
const TEXTS: Readonly<Record<string, AskText>> = {
  '/v1/chat/completions': askChat,
  '/v1/completions': askCompletion,
  '/v1/responses': askResponse,
  '/v1/messages': askMessage,
  '/infill': askInfill,
  '/api/chat': askOllamaChat,
  '/api/generate': askOllamaText,
};

const EMBEDDINGS = '/v1/embeddings';
/** The newer path and the older one. */
const OLLAMA_EMBED = ['/api/embed', '/api/embeddings'] as const;

/** Endpoints that count tokens. */
const COUNTS: Readonly<Record<string, (model: ServedModel, body: unknown) => Promise<object>>> = {
  '/v1/messages/count_tokens': countMessageTokens,
  '/tokenize': tokenize,
  '/detokenize': detokenize,
};

/** Paths served without a key; they reveal nothing about the model. */
const OPEN = ['/health', ...PAGE_PATHS];

/** In metrics, of a request whose connection was closed before the end of its answer; nginx's number. */
const CLOSED_STATUS = 499;
/** Seconds for the last bytes of responses when the server stops. */
const FLUSH_SECONDS = 1;

/** A server for one model: the APIs of OpenAI and Anthropic, metrics, and a page. */
export function createHttpServer(options: ServerOptions): HttpServer {
  const { model, mostBodyBytes } = options;
  const connections = createConnections(options);
  const app = Fastify({
    bodyLimit: mostBodyBytes,
    return503OnClosing: false, // admission refuses texts then, in the form of the API
    serverFactory: connections.serve,
    clientErrorHandler: connections.refuse,
    frameworkErrors: (_error, request, reply) => void sendError(request, reply, BAD_URL),
  });
  const routes: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' || method === 'POST' || method === 'DELETE') routes.push(`${method} ${url}`);
  });
  readBodies(app);
  const admission = createAdmission(options.mostTexts);
  const metrics = createMetrics(model);
  const check = accessCheck(options.key);
  app.addHook('onRequest', async (request, { raw }) => {
    const path = request.routeOptions.url ?? 'unknown';
    raw.once('close', () => metrics.answered(path, raw.writableFinished ? raw.statusCode : CLOSED_STATUS));
  });
  app.addHook('onRequest', async ({ raw, method, headers, routeOptions: { url = '' } }) => {
    const refusal = check(headers);
    // A browser asks without a key whether it may send one.
    const asksFirst = method === 'OPTIONS' && options.cors !== undefined;
    if (refusal === undefined) connections.admit(raw);
    else if (!asksFirst && (options.key === undefined || !OPEN.includes(url))) throw refusal;
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (encoding.toLowerCase() === 'identity') return;
    const problem = `content-encoding "${encoding.slice(0, 40)}" is not supported; send the body as it is`;
    throw new ApiError(415, problem, null, 'unsupported_encoding');
  });
  if (options.cors !== undefined) allowOrigin(app, options.cors);
  addErrors(app, options);
  addFacts(app, { model, metrics, check });
  const answering = { admission, metrics, options };
  for (const [path, ask] of Object.entries(TEXTS))
    for (const one of spellings(path))
      app.post(one, (request, reply) => writeAnswer({ ...answering, request, reply, ask }));
  const embeddings = (ask: AskEmbeddings, answer: AnswerEmbeddings) => (request: FastifyRequest, reply: FastifyReply) =>
    answerEmbeddings({ ...answering, request, reply, ask, answer });
  for (const one of spellings(EMBEDDINGS)) app.post(one, embeddings(askEmbeddings, embed));
  app.post(OLLAMA_EMBED[0], embeddings(askOllamaEmbeddings, ollamaEmbed));
  app.post(OLLAMA_EMBED[1], embeddings(askOllamaEmbedding, ollamaEmbedding));
  for (const [path, count] of Object.entries(COUNTS))
    for (const one of spellings(path))
      app.post(one, (request, reply) => inPlace({ ...answering, request, reply }, () => count(model, request.body)));
  return {
    routes,
    async listen(host, port) {
      await app.listen({ host, port });
      return (app.server.address() as { port: number }).port;
    },
    async stop(seconds) {
      const closed = app.close();
      await admission.stop(seconds);
      // Connections that clients keep become idle with their last response.
      const idle = setInterval(() => app.server.closeIdleConnections(), 20);
      const timer = setTimeout(() => app.server.closeAllConnections(), 1000 * FLUSH_SECONDS);
      await closed;
      clearInterval(idle);
      clearTimeout(timer);
    },
  };
}

/** Lets pages of an origin use the server (CORS). */
function allowOrigin(app: FastifyInstance, origin: string): void {
  app.addHook('onRequest', async ({ headers }, reply) => {
    if (origin !== '*' && headers.origin !== origin) return;
    reply.raw.setHeader('access-control-allow-origin', origin);
    reply.raw.setHeader('vary', 'origin');
    reply.raw.setHeader('access-control-expose-headers', IGNORED_HEADER);
  });
  app.options('*', async (_request, reply) =>
    reply
      .status(204)
      .headers({
        ...{ 'access-control-allow-methods': 'GET, POST, OPTIONS', 'access-control-max-age': '600' },
        'access-control-allow-headers': 'authorization, content-type, x-api-key, anthropic-version, anthropic-beta',
      })
      .send(),
  );
}

/**
 * Accepts only JSON bodies. A foreign web page may POST text/plain without a CORS preflight, but not application/json.
 */
function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request: FastifyRequest, body: string) =>
    readJsonInTurns(body.replace(/^\ufeff/, '')),
  );
}

interface Answering {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly options: ServerOptions;
}

/** Answers a request for texts, as a whole or in a stream. */
function writeAnswer({ ask, ...answering }: Answering & { readonly ask: AskText }) {
  const { request, reply, metrics, options } = answering;
  const { model } = options;
  return inPlace(answering, async (place) => {
    const asked = await ask(model, request.body, place.signal);
    if ('body' in asked) return asked.body;
    if (asked.ignored.length > 0) tellIgnored(reply, asked.ignored, options.log);
    const atOnce = place.extend(Math.min(asked.request.prompts.length * asked.request.count, MOST_AT_ONCE) - 1);
    const open = () => {
      reply.hijack();
      return reply.raw;
    };
    return await writeTexts({ model, asked, atOnce, open, signal: place.signal, onEnd: metrics.written });
  });
}

/** Header in which an answer names the parameters that it doesn't follow. */
const IGNORED_HEADER = 'x-hearth-ignored';
const MOST_HEADER_CHARACTERS = 2000;

/** Names them to the client, and in the log. */
function tellIgnored(reply: FastifyReply, ignored: readonly string[], log: (line: string) => void): void {
  const named = ignored
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, MOST_HEADER_CHARACTERS);
  reply.raw.setHeader(IGNORED_HEADER, named);
  log(`an answer doesn’t follow ${named}`);
}

type AskEmbeddings = typeof askEmbeddings;
type AnswerEmbeddings = (...given: Parameters<typeof embed>) => Promise<object>;

function answerEmbeddings({
  ask,
  answer,
  ...answering
}: Answering & { readonly ask: AskEmbeddings; readonly answer: AnswerEmbeddings }) {
  const { request, metrics, options } = answering;
  return inPlace(answering, async (place) => {
    const asked = await ask(options.model, request.body);
    const atOnce = place.extend(Math.max(1, Math.min(asked.texts.length, MOST_AT_ONCE)) - 1);
    const body = await answer(options.model, { ...asked, atOnce }, place.signal);
    metrics.embedded(asked.texts.reduce((sum, { length }) => sum + length, 0));
    return body;
  });
}

/** Answers a request that is admitted. A client that goes away cancels what is computed for it. */
async function inPlace(
  { reply, admission, options }: Answering,
  answer: (place: Place) => Promise<object | undefined>,
): Promise<string | Readable | undefined> {
  const place = admission.enter();
  reply.raw.once('close', place.cancel);
  try {
    const body = await answer(place);
    if (body === undefined) return undefined;
    reply.type('application/json; charset=utf-8');
    return inPieces(jsonPieces(body));
  } catch (error) {
    if (!reply.sent) throw error;
    if (answeredError(error).status >= 500 && !(error instanceof ApiError) && !place.signal.aborted)
      options.log(failure(error));
    return undefined;
  } finally {
    place.leave();
  }
}

/** The pieces of an answer, each made when the client has taken the one before and in a turn of its own. */
function inPieces(pieces: Iterator<string>): string | Readable {
  const [first, second] = [pieces.next(), pieces.next()];
  if (first.done === true || second.done === true) return first.value ?? '';
  const all = async function* (): AsyncGenerator<string> {
    yield first.value;
    for (let next: IteratorResult<string> = second; next.done !== true; next = pieces.next()) {
      yield next.value;
      await setImmediate();
    }
  };
  return Readable.from(all());
}

const BAD_URL = new ApiError(400, 'the path is not a URL: after "%" come two hexadecimal digits', null, 'bad_url');

function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): FastifyReply {
  if (error.status === 429) reply.header('retry-after', '1');
  const form = /^(?:\/v1)?\/messages/.test(request.url)
    ? anthropicError
    : request.url.startsWith('/api/')
      ? ollamaError
      : openAiError;
  return reply.status(error.status).send(form(error));
}

function addErrors(app: FastifyInstance, { log, mostBodyBytes }: ServerOptions): void {
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    if (error instanceof ApiError) return sendError(request, reply, error);
    const { statusCode = 500 } = error;
    if (statusCode >= 500) {
      log(failure(error));
      return sendError(request, reply, answeredError(error));
    }
    const message =
      statusCode === 413
        ? `the body has more than ${formatBytes(mostBodyBytes)}; send less, or start the server with a larger --max-body`
        : statusCode === 415
          ? 'the body must be JSON, with content-type: application/json'
          : 'the body is not valid JSON';
    return sendError(request, reply, new ApiError(statusCode, message));
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]?.slice(0, 100);
    const posts = [...Object.keys(TEXTS), EMBEDDINGS, ...OLLAMA_EMBED, ...Object.keys(COUNTS)].map(
      (one) => `POST ${one}`,
    );
    const served = [...posts, ...FACTS].join(', ');
    const problem = `${request.method} ${path} is not served here; this server has ${served}`;
    return sendError(request, reply, new ApiError(404, problem, null, 'unknown_url'));
  });
}

/** A path with `/v1` and without, as clients spell it. */
function spellings(path: string): string[] {
  return path.startsWith('/v1/') ? [path, path.slice('/v1'.length)] : [path];
}

const FACTS = [
  ...['/v1/models', '/health', '/props', '/slots', '/tokenizer_info', '/metrics', '/ring'].map((one) => `GET ${one}`),
  ...OLLAMA_FACTS,
];

interface FactSources {
  readonly model: ServedModel;
  readonly metrics: Metrics;
  readonly check: CheckAccess;
}

/** The endpoints that generate nothing. */
function addFacts(app: FastifyInstance, { model, metrics, check }: FactSources): void {
  const listed = { id: model.name, object: 'model', created: model.created, owned_by: 'hearth' };
  app.get('/v1/models', async () => ({ object: 'list', data: [{ ...listed, context_length: model.contextLength }] }));
  app.get<{ Params: { id: string } }>('/v1/models/:id', async ({ params: { id } }) => {
    if (id === model.name) return listed;
    throw new ApiError(404, `there is no model "${id.slice(0, 100)}" here`, 'model', 'model_not_found');
  });
  app.get('/models', async () => ({ object: 'list', data: [{ ...listed, context_length: model.contextLength }] }));
  app.get('/props', async () => serverProps(model));
  app.get('/slots', async () => slots(model));
  app.get('/tokenizer_info', async () => tokenizerInfo(model));
  for (const path of ['/v1/rerank', '/v1/reranking', '/v1/score'].flatMap(spellings))
    app.post(path, async () => {
      const problem =
        'reranking needs a model with a classification head, and this server continues texts; use /v1/embeddings';
      throw new ApiError(501, problem, null, 'not_supported_error');
    });
  addOllamaFacts(app, model);
  app.get('/health', async ({ headers }) =>
    check(headers) === undefined ? { status: 'ok', load: model.engine.load } : { status: 'ok' },
  );
  app.get('/ring', async () => model.ring?.() ?? null);
  app.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType);
    return metrics.text();
  });
  for (const { path, headers, bytes } of readPage())
    app.get(path, async (_request, reply) => reply.headers(headers).send(bytes));
}

/** Properties of the server and its model in the form of llama.cpp's /props, where they apply. */
function serverProps({ name, contextLength, chatTemplate }: ServedModel): object {
  return {
    default_generation_settings: { n_ctx: contextLength, params: {} },
    total_slots: MOST_AT_ONCE,
    ...{ model_alias: name, model_path: name, chat_template: chatTemplate ?? '' },
    ...{ modalities: { vision: false, audio: false }, build_info: 'hearth' },
  };
}

/** Texts that run at once, in the form of llama.cpp's slots: here they share memory, so as many more may run. */
function slots({ contextLength, engine }: ServedModel): object[] {
  const { running } = engine.load;
  return Array.from({ length: Math.max(MOST_AT_ONCE, running) }, (_, id) => {
    return { id, n_ctx: contextLength, speculative: false, is_processing: id < running };
  });
}

function failure(error: unknown): string {
  if (error instanceof InputError) return `a request failed: ${error.message}`;
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const where = /\/((?:engine|node_modules)\/[^\s)]+)/.exec(stack)?.[1] ?? 'an unknown place';
  return `a request failed: ${message} (${where}); please report this`;
}
