import type { ExpertReads } from '../experts/expert-reads.ts';
import type { BatchEngine } from '../runtime/batch/batch-engine.ts';
import type { Grammars } from '../text/grammar/grammars.ts';
import type { Message } from '../text/message.ts';
import type { ChatPrompt } from '../text/prompt-tokens.ts';
import type { Reasoning } from '../text/reasoning/reasoning.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import type { CallForm, Tool } from '../text/tools/tool.ts';
import type { RingState } from './ring-state.ts';

/** Facts about a model's file. */
export interface ServedFile {
  /** Name of the architecture, e.g. `llama`. */
  readonly architecture: string;
  readonly parameters: number;
  /** Bytes of its weights. */
  readonly bytes: number;
  /** Formats of its weights by one name, such as Q4_K_M. */
  readonly mix: string;
}

/** Parts of a model that the server needs. */
export interface ServedModel {
  /** By which requests name it. */
  readonly name: string;
  /** Time of its file, in seconds since 1970. */
  readonly created: number;
  readonly file: ServedFile;
  /** Tokens of a prompt and its answer. */
  readonly contextLength: number;
  /** Values of a hidden state, and so of an embedding. */
  readonly hiddenSize: number;
  readonly tokenizer: Pick<
    Tokenizer,
    'size' | 'encodeInTurns' | 'bytesOf' | 'spell' | 'begin' | 'end' | 'addsBegin' | 'stops' | 'fillMarks'
  >;
  readonly engine: BatchEngine;
  /** Grammars over its vocabulary. */
  readonly grammars: Grammars;
  /** The ring that computes, as it is now; `undefined` on one machine. */
  readonly ring?: (() => RingState) | undefined;
  /** Counts of experts that are read when tokens choose them; `undefined` where none are. */
  readonly expertReads?: ExpertReads | undefined;
  /**
   * The prompt of a conversation, and of tools that it may call, in the model's chat template; `undefined` if it has none.
   * @throws InputError if the template doesn't accept the conversation
   */
  readonly chatPrompt:
    | ((
        messages: readonly Message[],
        tools: readonly Tool[],
        variables: Readonly<Record<string, unknown>>,
      ) => Promise<ChatPrompt>)
    | undefined;
  /** The text of that template. */
  readonly chatTemplate: string | undefined;
  /** The marks of its thoughts; `undefined`: it has none that are known. */
  readonly reasoning: Reasoning | undefined;
  /** How it writes calls of tools. */
  readonly callForm: CallForm;
}
