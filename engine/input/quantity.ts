import type { FactoryFunctionMap } from 'mathjs';
import mathjs from 'mathjs/lib/browser/math.js';
import { InputError } from './input-error.ts';

/** Kind of a quantity; in SI: bytes, bytes per second, seconds, FLOP per second, watts. */
export type Dimension = 'size' | 'rate' | 'time' | 'compute' | 'power';

/** The source of a number, which reports show. */
export interface Provenance {
  /** As written: `published: …`, `specification: …`, `derived: …`, `measured: …`, `calibrated: …` or `assumed: …`. */
  readonly source: string;
  /** Share of a specification's peak that software reaches; 1 if the number is used unchanged. */
  readonly efficiency: number;
}

/** A number in SI units and its source. */
export interface Quantity {
  readonly value: number;
  readonly provenance: Provenance | undefined;
}

interface DimensionRule {
  readonly unit: string;
  readonly example: string;
  readonly min: number;
  readonly max: number;
}

/** Bounds lie an order of magnitude beyond any hardware on sale: a value outside has a wrong unit or prefix. */
const RULES: Readonly<Record<Dimension, DimensionRule>> = {
  size: { unit: 'B', example: '"4.1 GiB" or "512 MB"', min: 1024, max: 1e15 },
  rate: { unit: 'B/s', example: '"3.0 GB/s" or "450 Mbps"', min: 1e3, max: 1e14 },
  time: { unit: 's', example: '"5 ms" or "20 us"', min: 0, max: 60 },
  compute: { unit: 'FLOP/s', example: '"400 GFLOPS" or "13 TFLOP/s"', min: 1e6, max: 1e17 },
  power: { unit: 'W', example: '"2.3 W" or "450 mW"', min: 0, max: 1e5 },
};

const KINDS: Readonly<Record<Dimension, string>> = {
  size: 'a size',
  rate: 'a rate',
  time: 'a time',
  compute: 'a compute rate',
  power: 'a power',
};

const SOURCES = ['published', 'specification', 'derived', 'measured', 'calibrated', 'assumed'] as const;

const { create, createUnitDependencies, unitDependencies } = mathjs;
const math = create({ unitDependencies, createUnitDependencies } as FactoryFunctionMap);
math.createUnit('FLOP', { prefixes: 'short' });
math.createUnit('FLOPS', { definition: '1 FLOP/s', prefixes: 'short' });
math.createUnit('bps', { definition: '1 b/s', prefixes: 'short' });

/**
 * The SI value of a text such as "4.1 GiB". GB is 10⁹ bytes, GiB is 2³⁰ bytes, Mbps is 10⁶ bits per second.
 * @throws InputError for `where` if the text lacks a number or unit, has a unit of another dimension, or is out of
 *   bounds
 */
export function parseQuantity(text: string, dimension: Dimension, where: string): number {
  const rule = RULES[dimension];
  const wanted = `${KINDS[dimension]} with its unit is needed, such as ${rule.example}`;
  const written = text.trim();
  if (!/^[+-]?(\d|\.\d)/.test(written)) throw new InputError(where, `"${text}" is not a quantity; ${wanted}`);
  if (/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(written)) throw new InputError(where, `"${text}" has no unit; ${wanted}`);
  let value: number;
  try {
    value = math.unit(written.replace('µ', 'u')).toNumber(rule.unit);
  } catch {
    const other = (Object.keys(RULES) as Dimension[]).find((candidate) => converts(written, RULES[candidate].unit));
    const found = other === undefined ? 'is not in a unit known here' : `is ${KINDS[other]}`;
    throw new InputError(where, `"${text}" ${found}; ${wanted}`);
  }
  return checkRange(value, dimension, where, `"${text}"`);
}

/**
 * Reads a quantity of a configuration file: text, or an object such as
 * `{ "value": text, "efficiency": 0.75, "source": "specification: …" }`, whose value is multiplied by the efficiency.
 * @throws InputError as parseQuantity does, and for unknown keys, efficiencies outside (0, 1] or unknown kinds of
 *   source
 */
export function readQuantity(raw: unknown, dimension: Dimension, where: string): Quantity {
  if (typeof raw === 'string') return { value: parseQuantity(raw, dimension, where), provenance: undefined };
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    const found = raw === undefined ? 'missing' : `${JSON.stringify(raw)} has no unit`;
    throw new InputError(where, `${found}; ${KINDS[dimension]} is needed, such as ${RULES[dimension].example}`);
  }
  const { value, efficiency = 1, source, ...unknown } = raw as Record<string, unknown>;
  const extra = Object.keys(unknown)[0];
  if (extra !== undefined) throw new InputError(where, `unknown key "${extra}"; allowed: value, efficiency, source`);
  if (typeof value !== 'string')
    throw new InputError(`${where}.value`, `a text such as ${RULES[dimension].example} is needed`);
  if (typeof efficiency !== 'number' || !(efficiency > 0 && efficiency <= 1)) {
    throw new InputError(`${where}.efficiency`, `${JSON.stringify(efficiency)} is not a share above 0 and at most 1`);
  }
  if (typeof source !== 'string' || !SOURCES.some((kind) => source.startsWith(kind))) {
    throw new InputError(`${where}.source`, `a text that starts with one of ${SOURCES.join(', ')} is needed`);
  }
  return { value: parseQuantity(value, dimension, where) * efficiency, provenance: { source, efficiency } };
}

function converts(text: string, unit: string): boolean {
  try {
    return Number.isFinite(math.unit(text.replace('µ', 'u')).toNumber(unit));
  } catch {
    return false;
  }
}

function checkRange(value: number, dimension: Dimension, where: string, written: string): number {
  const { min, max, unit } = RULES[dimension];
  if (!(value >= min && value <= max)) {
    const limits = `${KINDS[dimension]} between ${min} and ${max} ${unit} is allowed`;
    throw new InputError(
      where,
      `${written} is ${Number.isNaN(value) ? 'not a number' : `${value} ${unit}`}; ${limits}`,
    );
  }
  return value;
}
