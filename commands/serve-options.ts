import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { basename } from 'node:path';
import { Command } from 'commander';
import type { ExpertsPolicy } from '../engine/experts/experts-policy.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import type { KernelOptions } from '../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../engine/model/kv-format.ts';
import { isLoopback } from '../engine/server/access.ts';
import { readCount, readNumber } from '../engine/terminal/options.ts';
import { addExpertOptions, type ExpertTexts, expertFlags, readExperts } from './expert-options.ts';
import { addPlaceOptions, type Place, type PlaceTexts, readPlace } from './place-options.ts';
import { OPTIONS, optional, readKernels, readKvCache, readModel } from './shared-options.ts';
import { type DraftRequest, type DraftTexts, readDrafts, SPECULATION_OPTIONS } from './speculation.ts';

/** The parsed options of `hearth serve`. */
export interface ServeRequest {
  readonly model: string;
  readonly name: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** `undefined`: none is needed, on loopback alone. */
  readonly key: string | undefined;
  readonly mostTexts: number;
  readonly mostConnections: number;
  readonly mostBodyBytes: number;
  readonly cors: string | undefined;
  /** Seconds for texts under way when the server is stopped. */
  readonly grace: number;
  /** Tokens of a prompt and its answer; `undefined`: CONTEXT, or fewer if the model was trained so. */
  readonly context: number | undefined;
  /** Texts of full length whose keys and values have room at the same time. */
  readonly parallel: number;
  readonly kvCache: KvFormat;
  readonly memory: number | undefined;
  readonly kernels: KernelOptions;
  /** How the experts of a mixture are kept in memory and read; `undefined`: none of it was given. */
  readonly experts: Partial<ExpertsPolicy> | undefined;
  /** A file of hearth pack-experts. */
  readonly packedExperts: string | undefined;
  /** Sources of drafted tokens. */
  readonly drafts: DraftRequest;
  readonly place: Place;
}

/** The options as commander passes them. */
interface Options extends PlaceTexts, DraftTexts, ExpertTexts {
  readonly model?: string;
  readonly name?: string;
  readonly host: string;
  readonly port: string;
  readonly apiKey?: string;
  readonly apiKeyFile?: string;
  readonly maxTexts: string;
  readonly maxConnections: string;
  readonly maxBody: string;
  readonly cors?: string;
  readonly grace: string;
  readonly context?: string;
  readonly parallel: string;
  readonly kv: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly kernels: string;
}

/** The environment variable of the key: arguments can be read by other users of a machine, an environment can't. */
const KEY_VARIABLE = 'HEARTH_API_KEY';
/** A key of 16 random letters and digits has 95 bits. */
const SHORTEST_KEY = 16;
const MOST_KEY_BYTES = 4096;

/** Tokens of the KV cache unless given or the model was trained for fewer, as in `hearth chat`. */
export const CONTEXT = 4096;

export function createServeCommand(run: (request: ServeRequest) => Promise<void>): Command {
  const command = new Command('serve')
    .description(
      'Serves a model over HTTP, with OpenAI’s and Anthropic’s APIs and a chat page, until it is stopped. With ' +
        '--worker or --cluster its layers run on the devices of a ring, and this one is the head.',
    )
    .addOption(OPTIONS.modelPartOrOwn)
    .option('--name <text>', 'the model’s name in requests (default: the file’s, without .gguf)')
    .option('--host <address>', 'address to listen on; one that other machines can reach requires a key', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0: any free port', '8080')
    .option('--api-key-file <file>', 'a file with the key that clients must send, which only its owner can read')
    .option(
      '--api-key <text>',
      `the key itself, which other users of this machine can see; prefer the file, or ${KEY_VARIABLE} in the environment`,
    )
    .option('--cors <origin>', 'the origin whose pages may use the server from a browser, or * for all')
    .option('--max-texts <n>', 'texts that may run or wait at once; further requests are refused (429)', '64')
    .option('--max-connections <n>', 'connections that may be open at once', '256')
    .option('--max-body <size>', 'size of the largest request', '1MiB')
    .option('--grace <seconds>', 'on Ctrl-C: time that running texts have to finish', '30')
    .option(
      '--context <n>',
      `tokens of a prompt and its answer, at most (default: ${CONTEXT}, or what the model was trained for if that is less)`,
    )
    .option('--parallel <n>', 'full-length texts that the KV cache has room for at once; more if they are shorter', '4')
    .addOption(OPTIONS.kvCache)
    .addOption(OPTIONS.memory)
    .addOption(SPECULATION_OPTIONS.draft)
    .addOption(SPECULATION_OPTIONS.lookup)
    .addOption(SPECULATION_OPTIONS.draftTokens)
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast);
  addExpertOptions(command, { replays: false });
  return addPlaceOptions(command).action((options: Options, called: Command) => run(readOptions(options, called)));
}

function readOptions(options: Options, called: Command): ServeRequest {
  const model = readModel(options.model);
  const { name = basename(model).replace(/\.gguf$/, '') } = options;
  if (name.trim() === '') throw new InputError('--name', 'is empty; give the name by which requests call the model');
  const key = readKey(options);
  return {
    model,
    name,
    host: readHost(options.host, key),
    port: readCount('--port', options.port, 0, 65535),
    key,
    mostTexts: readCount('--max-texts', options.maxTexts, 1, 10_000),
    mostConnections: readCount('--max-connections', options.maxConnections, 1, 10_000),
    mostBodyBytes: parseQuantity(options.maxBody, 'size', '--max-body'),
    cors: readOrigin(options.cors),
    grace: readNumber('--grace', options.grace, 0, 3600),
    context: optional(options.context, (text) => readCount('--context', text)),
    kvCache: readKvCache(options.kv),
    memory: optional(options.memory, (text) => parseQuantity(text, 'size', '--memory')),
    kernels: readKernels(options),
    parallel: readCount('--parallel', options.parallel, 1, 1024),
    drafts: readDrafts(options),
    experts: readExperts(options, options.memory),
    packedExperts: options.packedExperts,
    place: readPlace(options, called, {
      onCpu: { '--memory': options.memory, ...expertFlags(options) },
      onOneMachine: expertFlags(options),
    }),
  };
}

/** @throws InputError if the text isn't an origin */
function readOrigin(text: string | undefined): string | undefined {
  if (text === undefined || text === '*' || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+$/i.test(text)) return text;
  throw new InputError('--cors', `"${text}" isn’t an origin; give one such as http://localhost:3000, or *`);
}

/** @throws InputError for a name, and for an address beyond loopback without a key */
function readHost(host: string, key: string | undefined): string {
  if (host !== 'localhost' && isIP(host) === 0)
    throw new InputError('--host', `"${host}" is not an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1`);
  if (key !== undefined || isLoopback(host)) return host;
  const remedy = `give a key by --api-key-file or ${KEY_VARIABLE}, or leave --host out`;
  throw new InputError(
    '--host',
    `other machines reach ${host}, and without a key anybody could use the model; ${remedy}`,
  );
}

/** @throws InputError for a key that is short, can't be sent, or that others may read; keys are never quoted */
function readKey({ apiKey, apiKeyFile }: Options): string | undefined {
  if (apiKey !== undefined && apiKeyFile !== undefined)
    throw new InputError('--api-key', 'and --api-key-file exclude each other; give one of them');
  if (apiKeyFile !== undefined) return checkKey(apiKeyFile, readKeyFile(apiKeyFile));
  if (apiKey !== undefined) return checkKey('--api-key', apiKey);
  return optional(process.env[KEY_VARIABLE], (text) => checkKey(KEY_VARIABLE, text));
}

function readKeyFile(path: string): string {
  try {
    const { mode, size } = statSync(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw new InputError(path, 'can be read by other users; chmod 600 it');
    if (size > MOST_KEY_BYTES)
      throw new InputError(path, `has more than ${MOST_KEY_BYTES} bytes; give a file with a key`);
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, `can’t be read (${(error as NodeJS.ErrnoException).code}); give a file with a key`);
  }
}

function checkKey(where: string, key: string): string {
  if (/^[\x21-\x7e]+$/.test(key) && key.length >= SHORTEST_KEY) return key;
  throw new InputError(
    where,
    `is not a key; give at least ${SHORTEST_KEY} characters of ASCII without spaces, such as openssl rand -hex 32 prints`,
  );
}
