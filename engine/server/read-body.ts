import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { readValue } from '../input/complaint.ts';
import { suggestion } from '../input/input-error.ts';
import { ApiError } from './api-error.ts';

/** Rules for the body of a request. */
export interface BodyRules<Shape extends z.ZodObject> {
  readonly shape: Shape;
  /** Parameters that have no influence on the text, and are accepted with any value. */
  readonly harmless: readonly string[];
  /** Parameters of the API that aren't supported: values that ask for nothing, which are accepted, and what to do. */
  readonly unsupported: Readonly<Record<string, Unsupported>>;
}

export interface Unsupported {
  readonly neutral: readonly unknown[];
  readonly remedy: string;
}

/**
 * The parameters of a request. `null` counts as absent, as in OpenAI's API.
 * @throws ApiError 400 that names the parameter, for one that is unknown, unsupported or malformed
 */
export function readBody<Shape extends z.ZodObject>(rules: BodyRules<Shape>, body: unknown): z.output<Shape> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(400, 'the body must be a JSON object');
  const known = Object.keys(rules.shape.shape);
  const wanted: [name: string, value: unknown][] = [];
  for (const name of Object.keys(body)) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    if (value === null || rules.harmless.includes(name)) continue;
    const unsupported = Object.hasOwn(rules.unsupported, name) ? rules.unsupported[name] : undefined;
    if (unsupported?.neutral.some((neutral) => isDeepStrictEqual(value, neutral))) continue;
    if (unsupported !== undefined)
      throw new ApiError(400, `${name}: is not supported; ${unsupported.remedy}`, name, 'unsupported_parameter');
    if (!known.includes(name)) {
      const shown = name.slice(0, 100);
      throw new ApiError(400, `${shown}: unknown parameter${suggestion(shown, known)}`, shown, 'unknown_parameter');
    }
    wanted.push([name, value]);
  }
  const read = readValue(rules.shape, Object.fromEntries(wanted));
  if ('value' in read) return read.value;
  const { place, problem } = read.complaint;
  throw new ApiError(400, `${place}: ${problem}`, place, 'invalid_value');
}
