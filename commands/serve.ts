import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Command } from 'commander';
import { PAGE_TOKENS, PASS_TOKENS } from '../engine/batch/request-policy.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import type { Gguf } from '../engine/gguf/gguf.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { WeightsLostError } from '../engine/kernels/weights-lost-error.ts';
import type { Model } from '../engine/model/model.ts';
import { readPartFile } from '../engine/ring/device/part-file.ts';
import { ringSequences } from '../engine/ring/head/ring-sequences.ts';
import type { BatchLoad } from '../engine/runtime/batch/batch-engine.ts';
import { createBatchEngine } from '../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../engine/runtime/load/load-transformer.ts';
import type { Sequences } from '../engine/runtime/texts/sequences.ts';
import { isLoopback } from '../engine/server/access.ts';
import type { HttpServer } from '../engine/server/create-server.ts';
import type { ServedModel } from '../engine/server/served-model.ts';
import { createGrammars } from '../engine/text/grammar/grammars.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { chatTemplate } from '../engine/text/prompt-tokens.ts';
import { reasoningOf } from '../engine/text/reasoning/reasoning.ts';
import { withShownMarks } from '../engine/text/shown-marks.ts';
import { callFormOf } from '../engine/text/tools/tool.ts';
import { createChatPrompts } from './chat-prompt.ts';
import { kernelsOnDemand } from './kernels-on-demand.ts';
import { npxEnded } from './npx-parent.ts';
import { openRing } from './open-ring.ts';
import { openSplit } from './open-split.ts';
import { writeReadAheadNotice } from './read-ahead-notice.ts';
import { textsOfRing } from './ring-model.ts';
import { type RingWatch, watchRing } from './ring-watch.ts';
import { CONTEXT, createServeCommand, type ServeRequest } from './serve-options.ts';
import { openServedDrafts } from './speculation.ts';

/** `hearth serve`: a model over HTTP until SIGINT or SIGTERM. What it says goes to stderr. */
export function serveCommand(): Command {
  return createServeCommand(run);
}

async function run(request: ServeRequest): Promise<void> {
  const { close, ...opened } = await openServedModel(request);
  try {
    await serve(opened, request);
  } finally {
    await close();
  }
}

async function serve({ model, lost }: OpenedModel, request: ServeRequest): Promise<void> {
  // Loaded here, since it takes longer than most commands.
  const { createHttpServer } = await import('../engine/server/create-server.ts');
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
  await Promise.race([stopped, npxEnded(), lost]).catch(async (error) => {
    await server.stop(0);
    throw error;
  });
  const { running, waiting } = model.engine.load;
  const texts = running + waiting;
  if (texts > 0) log(`stops; ${texts === 1 ? '1 text has' : `${texts} texts have`} ${grace} s to end`);
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

interface OpenedModel {
  readonly model: ServedModel;
  /** Rejects with a WeightsLostError if its file can't be read any more. */
  readonly lost: Promise<never>;
}

async function openServedModel(request: ServeRequest): Promise<OpenedModel & { close: () => Promise<void> }> {
  const { model: path, name } = request;
  const gguf = withFile(path, readGguf);
  const template = chatTemplate(gguf);
  const plain = loadTokenizer(gguf);
  const reasoning = reasoningOf(template ?? '', plain);
  const tokenizer = withShownMarks(plain, reasoning);
  const whole = request.place.ring === undefined ? gguf : readPartFile(gguf).whole;
  const shape = modelFromGguf(whole);
  if (tokenizer.size > shape.vocabularySize) {
    const sizes = `${tokenizer.size} tokens, but the model has ${shape.vocabularySize} rows of embeddings`;
    throw new InputError(path, `the vocabulary has ${sizes}; the file is malformed`);
  }
  const context = request.context ?? Math.min(CONTEXT, transformerSettings(whole, shape).contextLength);
  const { sequences, watch: watchLoad, kernels, close } = await openSequences(request, { gguf, shape, context });
  const { vocabularySize } = shape;
  const drafts = await openServedDrafts({
    ...{ request: request.drafts, file: path, tokenizer, vocabularySize, kernels, context, parallel: request.parallel },
  }).catch(async (error) => {
    await close();
    throw error;
  });
  const chat = template === undefined ? undefined : createChatPrompts(gguf, tokenizer, reasoning);
  let lose: (error: WeightsLostError) => void = () => {};
  const lost = new Promise<never>((_, reject) => {
    lose = reject;
  });
  lost.catch(() => {}); // whoever waits hears of it
  const onFailure = (error: unknown): void => {
    if (error instanceof WeightsLostError) lose(error);
  };
  const engine = createBatchEngine({ sequences, tokenizer, drafts, onFailure });
  const watch = watchLoad?.(() => engine.load);
  const model = {
    name,
    created: Math.floor(statSync(path).mtimeMs / 1000),
    file: {
      ...{ architecture: whole.fields.text('general.architecture'), bytes: shape.bytes, mix: shape.mix },
      parameters: shape.tensors.reduce((sum, { rows, columns }) => sum + rows * columns, 0),
    },
    contextLength: context,
    hiddenSize: shape.hiddenSize,
    tokenizer,
    engine,
    grammars: createGrammars(tokenizer),
    ring: watch?.state,
    expertReads: sequences.expertReads,
    chatPrompt: chat?.of,
    chatTemplate: template,
    reasoning,
    callForm: callFormOf(template ?? ''),
  };
  return {
    model,
    lost,
    async close() {
      watch?.close();
      chat?.close();
      await engine.close();
      await close();
    },
  };
}

interface OpenedSequences {
  readonly sequences: Sequences;
  /** Watches a ring; missing on one machine. */
  readonly watch?: (load: () => BatchLoad) => RingWatch;
  /** Kernels of this machine. */
  kernels(): Kernels;
  close(): Promise<void> | void;
}

/** The model on this machine, on its CPU alone or with a GPU, or on the devices of a ring. */
async function openSequences(
  request: ServeRequest,
  { gguf, shape, context }: { readonly gguf: Gguf; readonly shape: Model; readonly context: number },
): Promise<OpenedSequences> {
  const { model: path, kvCache, memory, experts, packedExperts, parallel } = request;
  const { gpu, ring: asked } = request.place;
  if (asked !== undefined) {
    const { kernels } = request;
    let watch: RingWatch | undefined;
    const say = (line: string): void => {
      log(line);
      watch?.hear(line);
    };
    const size = textPages(parallel, context);
    // Devices hold whole pages.
    const held = { context: (size.pages / parallel) * PAGE_TOKENS, requests: parallel, pageTokens: PAGE_TOKENS };
    const texts = { ...held, trace: true, saveCluster: undefined };
    const opened = await openRing({ ...asked, ...texts, model: path, kvCache, kernels, log: say });
    const own = kernelsOnDemand(kernels);
    return {
      sequences: ringSequences({
        model: opened.model,
        texts: textsOfRing(opened, context, parallel),
        mostTokens: PASS_TOKENS,
      }),
      watch(load) {
        watch = watchRing(opened, load);
        return watch;
      },
      kernels: own.get,
      async close() {
        await opened.close();
        own.close();
      },
    };
  }
  const kernels = openKernels(request.kernels);
  try {
    const size = textPages(parallel, context);
    const folder = tmpdir();
    if (gpu !== undefined) {
      const { exact } = request.kernels;
      const split = await openSplit(
        {
          ...{ cpu: kernels, gpu, exact, model: shape, file: path, context },
          // The longest prompt of a pass.
          ...{ promptTokens: Math.min(PASS_TOKENS, context), kvFormat: kvCache, paging: undefined },
          signal: new AbortController().signal,
        },
        ({ sequences }, plan, onLayer) => sequences(plan, { ...size, place: { folder, ram: 0 } }, onLayer),
      );
      const close = (): void => {
        split?.close();
        kernels.close();
      };
      if (split !== undefined) return { sequences: split.result, kernels: () => kernels, close };
    }
    if (memory === undefined && experts === undefined) writeReadAheadNotice(path, shape);
    const sequences = loadSequences(path, {
      kernels,
      gguf,
      context,
      kvCache,
      memory,
      experts,
      packedExperts,
      ...size,
      folder,
    });
    return { sequences, kernels: () => kernels, close: kernels.close };
  } catch (error) {
    kernels.close();
    throw error;
  }
}

/** The pages of so many texts of full length. */
function textPages(texts: number, context: number): { readonly pages: number; readonly pageTokens: number } {
  return { pages: texts * Math.ceil(context / PAGE_TOKENS), pageTokens: PAGE_TOKENS };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
