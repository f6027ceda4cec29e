import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { suggestion } from '../input/input-error.ts';
import { ApiError } from './api-error.ts';

/** What the body of a request may contain. */
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
  const wanted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || rules.harmless.includes(name)) continue;
    const unsupported = Object.hasOwn(rules.unsupported, name) ? rules.unsupported[name] : undefined;
    if (unsupported === undefined) wanted[name] = value;
    else if (!unsupported.neutral.some((neutral) => isDeepStrictEqual(value, neutral)))
      throw new ApiError(400, `${name}: is not supported; ${unsupported.remedy}`, name, 'unsupported_parameter');
  }
  const known = Object.keys(rules.shape.shape);
  const unknown = Object.keys(wanted).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const shown = unknown.slice(0, 100);
    throw new ApiError(400, `${shown}: unknown parameter${suggestion(shown, known)}`, shown, 'unknown_parameter');
  }
  const { success, data, error } = rules.shape.safeParse(wanted);
  if (success) return data as z.output<Shape>;
  const { path, message } = deepest(error.issues[0] as z.core.$ZodIssue);
  const place = path.map((part, index) =>
    typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
  );
  throw new ApiError(400, `${place.join('')}: ${lowerFirst(message)}`, place.join(''), 'invalid_value');
}

/** Of a union's branches, the complaint that goes deepest: it is about what the caller meant. */
function deepest(issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string } {
  if (issue.code !== 'invalid_union') return { path: issue.path, message: issue.message };
  const inner = issue.errors.flatMap((issues) => issues.slice(0, 1)).map(deepest);
  const found = inner.toSorted((a, b) => b.path.length - a.path.length)[0];
  if (found === undefined || found.path.length === 0) return { path: issue.path, message: issue.message };
  return { path: [...issue.path, ...found.path], message: found.message };
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
