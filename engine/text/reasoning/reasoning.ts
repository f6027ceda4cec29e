import type { Tokenizer } from '../tokenizer.ts';

/** How a model marks its thoughts, which come before its answer. */
export interface Reasoning {
  readonly begin: string;
  readonly end: string;
  /** Marks that come before the answer, and are no part of it. */
  readonly leads: readonly string[];
}

/** Thoughts of a text that is to be written. */
export interface OpenedReasoning extends Reasoning {
  /** Whether its prompt has `begin` already. */
  readonly isOpened: boolean;
}

const marks = (begin: string, end: string, known = begin, leads: readonly string[] = []) => ({
  ...{ begin, end, known, leads },
});

/** Marks of Qwen 3, DeepSeek R1 and most others. A text that begins with them has thoughts, whatever its model. */
export const THINK = marks('<think>', '</think>');

/** Marks of families, and by which text in a template or a vocabulary each is known. */
const FAMILIES = [
  THINK,
  marks('[THINK]', '[/THINK]'), // Magistral
  marks('<seed:think>', '</seed:think>'), // Seed-OSS
  marks('<|START_THINKING|>', '<|END_THINKING|>'), // Command A
  marks('<thought>', '</thought>'), // EXAONE Deep
  marks('<|channel>thought', '<channel|>', '<|channel>'), // Gemma 4
  marks('<|channel|>analysis<|message|>', '<|end|>', '<|channel|>', [
    ...['<|start|>assistant', '<|channel|>final<|message|>', '<|channel|>commentary<|message|>'],
  ]), // gpt-oss
] as const;

/** The marks that a template or a vocabulary has; `undefined`: none that are known. */
export function reasoningOf(
  template: string,
  { size, spell }: Pick<Tokenizer, 'size' | 'spell'>,
): Reasoning | undefined {
  const found = FAMILIES.find(({ known }) => template.includes(known));
  if (found !== undefined) return found;
  const spelled = new Set<string>();
  for (let token = 0; token < size; token++) spelled.add(spell(token));
  return FAMILIES.find(({ known }) => spelled.has(known));
}

/** Whether a prompt ends within thoughts. */
export function endsInThoughts(prompt: string, { begin, end }: Reasoning): boolean {
  const [opened, closed] = [prompt.lastIndexOf(begin), prompt.lastIndexOf(end)];
  return opened >= 0 && opened > closed && prompt.slice(opened + begin.length).trim() === '';
}

/** Whether an answer begins with thoughts that have no end. */
export function isUnclosed(answer: string, { begin, end }: Reasoning): boolean {
  return answer.trimStart().startsWith(begin) && !answer.includes(end);
}

/** The key under which a template reads an assistant's thoughts; `undefined`: it doesn't. */
export function reasoningKeyOf(template: string): string | undefined {
  return ['reasoning_content', 'thinking', 'reasoning'].find((key) =>
    new RegExp(`(?:\\.|\\[['"]|['"])${key}\\b`).test(template),
  );
}
