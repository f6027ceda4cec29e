import type { ToolCall } from './tools/tool.ts';

/** A part of a conversation. */
export interface Message {
  /** `tool`: what a tool returned. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** An assistant's thoughts before its content. */
  readonly reasoning?: string | undefined;
  /** An assistant's calls after its content. */
  readonly calls?: readonly ToolCall[];
  /** For the result of a tool: the call, and the tool. */
  readonly callId?: string;
  readonly name?: string | undefined;
}
