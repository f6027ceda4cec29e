import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Command } from 'commander';
import { withFile } from '../gguf/file-source.ts';
import { modelFromGguf } from '../gguf/model-from-gguf.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { transformerSettings } from '../gguf/transformer-settings.ts';
import { InputError } from '../input/input-error.ts';
import type { Kernels } from '../kernels/kernels.ts';
import { openKernels } from '../kernels/open-kernels.ts';
import { createBatchEngine } from '../runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../runtime/load-transformer.ts';
import { isLoopback } from '../server/access.ts';
import type { HttpServer } from '../server/create-server.ts';
import type { ServedModel } from '../server/served-model.ts';
import { loadTokenizer } from '../text/load-tokenizer.ts';
import { hasChatTemplate } from '../text/prompt-tokens.ts';
import { createChatPrompt } from './chat-prompt.ts';
import { npxEnded } from './npx-parent.ts';
import { CONTEXT, createServeCommand, type ServeRequest } from './serve-options.ts';

/** `hearth serve`: a model over HTTP until SIGINT or SIGTERM. What it says goes to stderr. */
export function serveCommand(): Command {
  return createServeCommand(run);
}

async function run(request: ServeRequest): Promise<void> {
  const kernels = openKernels(request.kernels);
  try {
    const { model, close } = openServedModel(kernels, request);
    try {
      await serve(model, request);
    } finally {
      close();
      await model.engine.close();
    }
  } finally {
    kernels.close();
  }
}

async function serve(model: ServedModel, request: ServeRequest): Promise<void> {
  // Loaded here, since it takes longer than most commands.
  const { createHttpServer } = await import('../server/create-server.ts');
  const server = createHttpServer({ ...request, model, log });
  const { host, key, grace } = request;
  const port = await listen(server, request);
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const open = key === undefined ? 'for every program on this machine, without a key' : 'for whoever sends the API key';
  log(`serves ${model.name} at ${address}, ${open}${isLoopback(host) ? '' : '; the connections are not encrypted'}`);
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGINT', resolve); // a second signal ends the process at once
    process.once('SIGTERM', resolve);
  });
  await Promise.race([stopped, npxEnded()]);
  const { running, waiting } = model.engine.load;
  if (running + waiting > 0) log(`stops; ${running + waiting} texts have ${grace} s to end`);
  await server.stop(grace);
}

/** @throws InputError for an address that can't be listened at */
async function listen(server: HttpServer, { host, port }: ServeRequest): Promise<number> {
  try {
    return await server.listen(host, port);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const problem = LISTEN_PROBLEMS[code];
    if (problem === undefined) throw error;
    throw new InputError(code === 'EADDRNOTAVAIL' ? '--host' : '--port', problem(host, port));
  }
}

const LISTEN_PROBLEMS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (_host, port) => `${port} is in use by another program; give another one, or 0 for a free one`,
  EACCES: (_host, port) => `${port} needs privileges; give one from 1024 on`,
  EADDRNOTAVAIL: (host) => `${host} is not an address of this machine; give one that it has, such as 127.0.0.1`,
};

/** Texts of full length whose keys and values have room; many more are served at once if they are shorter. */
const CONTEXTS = 4;
/** Tokens in a page: prompts that begin alike share whole pages. */
const PAGE_TOKENS = 64;

function openServedModel(kernels: Kernels, request: ServeRequest): { model: ServedModel; close: () => void } {
  const { model: path, name, kvCache, memory } = request;
  const gguf = withFile(path, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const shape = modelFromGguf(gguf);
  if (tokenizer.size > shape.vocabularySize) {
    const sizes = `${tokenizer.size} tokens, but the model has ${shape.vocabularySize} rows of embeddings`;
    throw new InputError(path, `the vocabulary has ${sizes}; the file is malformed`);
  }
  const context = request.context ?? Math.min(CONTEXT, transformerSettings(gguf, shape).contextLength);
  const pages = CONTEXTS * Math.ceil(context / PAGE_TOKENS);
  const place = { pages, pageTokens: PAGE_TOKENS, folder: tmpdir() };
  const sequences = loadSequences(path, { kernels, context, kvCache, memory, ...place });
  const chat = hasChatTemplate(gguf) ? createChatPrompt(gguf, tokenizer) : undefined;
  const model = {
    name,
    created: Math.floor(statSync(path).mtimeMs / 1000),
    contextLength: context,
    tokenizer,
    engine: createBatchEngine({ sequences, tokenizer }),
    chatPrompt: chat?.tokens,
  };
  return { model, close: () => chat?.close() };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
