/** Parameters about thoughts, in the words of each API. */
export interface ThinkingRequest {
  readonly reasoning_effort?: string | undefined;
  readonly reasoning?: { readonly effort?: string | null | undefined } | undefined;
  readonly enable_thinking?: boolean | undefined;
  readonly chat_template_kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** Anthropic's parameter. */
  readonly thinking?: { readonly type: string } | undefined;
}

/** Efforts that templates know, by those of the APIs. */
const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' };

/**
 * Variables of a chat template that switch thoughts on and off: `enable_thinking` (Qwen 3, SmolLM 3 …), `thinking`
 * (DeepSeek, Granite) and `reasoning_effort` (gpt-oss). A template takes those that it knows; without a wish it has its
 * own defaults.
 */
export function thinkingVariables(asked: ThinkingRequest): Record<string, unknown> {
  const effort = asked.reasoning_effort ?? asked.reasoning?.effort ?? undefined;
  const isOn =
    asked.enable_thinking ??
    (asked.thinking === undefined
      ? effort === undefined
        ? undefined
        : effort !== 'none'
      : asked.thinking.type !== 'disabled');
  return {
    ...(isOn === undefined ? {} : { enable_thinking: isOn, thinking: isOn }),
    ...(effort === undefined || effort === 'none' ? {} : { reasoning_effort: EFFORTS[effort] ?? effort }),
    ...asked.chat_template_kwargs,
  };
}
