import type { Conversation } from './grammar/conversations.ts';

/** The turns of a conversation between control tokens (ChatML), in Jinja as a GGUF file has it. */
export const CHAT_TEMPLATE =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** A whole conversation as the template writes it, without the line break after the last turn. */
export function conversationText({ system, turns }: Conversation): string {
  const messages = turns.flatMap(({ user, assistant }) => [turn('user', user), turn('assistant', assistant)]);
  return [...(system === undefined ? [] : [turn('system', system)]), ...messages].join('\n');
}

function turn(role: string, content: string): string {
  return `<|im_start|>${role}\n${content}<|im_end|>`;
}
