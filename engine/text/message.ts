import type { ToolCall } from './tools/tool.ts';

/** A part of a conversation. */
export interface Message {
  /** `tool`: what a tool returned. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** Of an assistant: what it thought before. */
  readonly reasoning?: string | undefined;
  /** Of an assistant, after the content. */
  readonly calls?: readonly ToolCall[];
  /** Of what a tool returned: the call, and the tool. */
  readonly callId?: string;
  readonly name?: string | undefined;
}
