import { tmpdir } from 'node:os';
import { createChatPrompts } from '../../commands/chat-prompt.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import { createHttpServer, type ServerOptions } from '../../engine/server/create-server.ts';
import type { ServedModel } from '../../engine/server/served-model.ts';
import { createGrammars } from '../../engine/text/grammar/grammars.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { chatTemplate } from '../../engine/text/prompt-tokens.ts';
import type { FillMarks } from '../../engine/text/tokenizer.ts';
import { type CallForm, callFormOf } from '../../engine/text/tools/tool.ts';

const FILE = 'datasets/models/stories-3m.gguf';
/** More than the model was trained for: descriptions of tools take its small vocabulary hundreds of tokens. */
const CONTEXT = 2048;

/** A server with the small model of the repository, which writes stories and knows nothing of JSON. */
export async function storiesServer(
  callForm: CallForm = callFormOf(''),
  options: Partial<ServerOptions> = {},
  fillMarks?: FillMarks,
) {
  const gguf = withFile(FILE, readGguf);
  const tokenizer = { ...loadTokenizer(gguf), fillMarks };
  const kernels = openKernels();
  const place = { pages: 512, pageTokens: 64, folder: tmpdir() };
  const engine = createBatchEngine({
    sequences: loadSequences(FILE, { kernels, context: CONTEXT, ...place }),
    tokenizer,
  });
  const chat = createChatPrompts(gguf, tokenizer, undefined);
  const model: ServedModel = {
    ...{ name: 'stories', created: 1_700_000_000, contextLength: CONTEXT, hiddenSize: 192, tokenizer, engine },
    file: { architecture: 'llama', parameters: 3_000_000, bytes: 3_000_000, mix: 'Q8_0' },
    grammars: createGrammars(tokenizer),
    chatPrompt: chat.of,
    chatTemplate: chatTemplate(gguf),
    reasoning: undefined,
    callForm,
  };
  const lines: string[] = [];
  const server = createHttpServer({
    ...{ model, key: undefined, mostTexts: 64, mostConnections: 64, mostBodyBytes: 400_000 },
    log: (line) => void lines.push(line),
    ...options,
  });
  const port = await server.listen('127.0.0.1', 0);
  return {
    url: `http://127.0.0.1:${port}`,
    /** The server's log. */
    lines,
    async stop() {
      await server.stop(1);
      chat.close();
      await engine.close();
      kernels.close();
    },
  };
}
