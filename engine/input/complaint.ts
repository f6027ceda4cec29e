import { z } from 'zod';
import { suggestion } from './input-error.ts';

/** A fault of a value from outside. */
export interface Complaint {
  /** Path of the parameter, e.g. `messages[0].content`. */
  readonly place: string;
  readonly problem: string;
}

/** A complaint in one line. */
export function complaintLine({ place, problem }: Complaint): string {
  return place === '' ? problem : `${place} ${problem}`;
}

/**
 * A value of that form. What is wrong with it is said by the schema where it says something, and otherwise by what the
 * schema is.
 */
export function readValue<Shape extends z.ZodType>(
  schema: Shape,
  value: unknown,
): { readonly value: z.output<Shape> } | { readonly complaint: Complaint } {
  const { success, data, error } = schema.safeParse(value, { error: problemOf });
  if (success) return { value: data };
  const { path, message } = meant(error.issues[0] as z.core.$ZodIssue);
  const place = path.map((part, index) =>
    typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
  );
  return { complaint: { place: place.join(''), problem: message } };
}

/** Kinds of values, as JSON has them. */
const KINDS: Readonly<Record<string, string>> = {
  ...{ string: 'a text', number: 'a number', int: 'a whole number', boolean: 'true or false' },
  ...{ array: 'a list', object: 'an object', record: 'an object' },
};

/** Describes in words what is wrong. */
export function problemOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const [wanted, found] = [KINDS[issue.expected] ?? issue.expected, kindOf(issue.input)];
      return missing(issue.input, wanted) ?? `must be ${wanted}${wanted === found ? '' : `, not ${found}`}`;
    }
    case 'invalid_value': {
      const allowed = either(issue.values);
      return missing(issue.input, allowed) ?? `must be ${allowed}`;
    }
    case 'too_small':
      return mustHave(issue, 'least', Number(issue.minimum));
    case 'too_big':
      return mustHave(issue, 'most', Number(issue.maximum));
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys;
      const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
      return `has the unknown key "${key.slice(0, 100)}"${suggestion(key.slice(0, 100), known)}`;
    }
    default:
      return undefined;
  }
}

function kindOf(input: unknown): string {
  if (typeof input === 'number') return String(input);
  return KINDS[Array.isArray(input) ? 'array' : typeof input] ?? typeof input;
}

function missing(input: unknown, wanted: string): string | undefined {
  return input === undefined ? `is missing; give ${wanted}` : undefined;
}

function either(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(' or ');
}

function mustHave(
  { origin, input }: { readonly origin: string; readonly input?: unknown },
  side: 'least' | 'most',
  limit: number,
): string {
  if (typeof input === 'number') return `must be at ${side} ${limit}, not ${input}`;
  const [unit, units] = origin === 'string' ? ['character', 'characters'] : ['entry', 'entries'];
  return `must have at ${side} ${limit} ${limit === 1 ? unit : units}`;
}

/**
 * The complaint about the branch of a union that the caller meant: not a branch of another `type`, and the
 * one that goes deepest. Where only the type is wrong, all types are allowed.
 */
function meant(issue: z.core.$ZodIssue): Pick<z.core.$ZodIssue, 'path' | 'message'> {
  if (issue.code !== 'invalid_union') return issue;
  const inner = issue.errors.flatMap((issues) => issues.slice(0, 1));
  const isOther = ({ code, path }: z.core.$ZodIssue): boolean => code === 'invalid_value' && path.at(-1) === 'type';
  const own = inner.filter((one) => !isOther(one)).map(meant);
  const found = own.toSorted((a, b) => b.path.length - a.path.length)[0];
  if (found !== undefined && found.path.length > 0) return { ...found, path: [...issue.path, ...found.path] };
  const types = inner.filter(isOther).flatMap((one) => ('values' in one ? one.values : []));
  if (types.length === 0) return issue;
  return { path: [...issue.path, 'type'], message: `must be ${either(types)}` };
}
