import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import { list, MOST_MESSAGES } from './parameters.ts';

/** The content of a message: texts, and parts that aren't texts, at their places. */
export type Content = readonly (string | OtherPart)[];

interface OtherPart {
  readonly index: number;
  readonly type: string;
  readonly part: Readonly<Record<string, unknown>>;
}

/** Kinds of parts that are texts, in all APIs. */
const TEXT_KINDS = ['text', 'input_text', 'output_text', 'summary_text', 'reasoning_text'];

/** A text, or parts of the API's kind, of another's, or of something else. */
export function contentOf(kind: string) {
  const part = z.looseObject({ type: z.string() });
  return z
    .union([z.string(), list(part, MOST_MESSAGES)], `must be a text, or a list of parts of type "${kind}"`)
    .transform((value, context): Content => {
      if (typeof value === 'string') return [value];
      return value.map((one, index) => {
        if (one.type === 'refusal' && typeof one.refusal === 'string') return one.refusal;
        if (!TEXT_KINDS.includes(one.type)) return { index, type: one.type.slice(0, 40), part: one };
        if (typeof one.text === 'string') return one.text;
        context.addIssue({ code: 'custom', path: [index], message: 'has no text' });
        return '';
      });
    });
}

/** The same where only texts are read. */
export function textOf(kind: string) {
  return contentOf(kind).transform((content, context): string => {
    const other = content.find((one) => typeof one !== 'string');
    if (other !== undefined) context.addIssue({ code: 'custom', path: [other.index], message: refusal(other) });
    return content.filter((one) => typeof one === 'string').join('');
  });
}

const refusal = ({ type }: OtherPart): string => `is of type "${type}", which is not supported; send text`;

/** @param where its place in the request. @throws ApiError 400 for a part that isn't a text */
export function plainText(content: Content, where: string): string {
  const texts = content.map((one): string => {
    if (typeof one === 'string') return one;
    throw new ApiError(400, `${where}[${one.index}]: ${refusal(one)}`, `${where}[${one.index}]`, 'invalid_value');
  });
  return texts.join('');
}

/**
 * A tool's result, in which an image can't be replaced by text any more: the model is told that there was one.
 * @param leftOut takes the places of such parts
 */
export function resultText(content: Content, where: string, leftOut: string[]): string {
  const texts = content.map((one): string => {
    if (typeof one === 'string') return one;
    leftOut.push(`${where}[${one.index}]`);
    return `[${one.type.replace(/^input_|_url$/g, '')} left out]`;
  });
  return texts.join('');
}
