import type { PartTimes } from '../cost/chip/part-times.ts';
import { InputError } from '../input/input-error.ts';
import { parseJson } from '../input/parse-json.ts';
import { type Fields, readFields } from '../input/read-fields.ts';
import type { Model } from '../model/model.ts';
import { modelOperators } from '../model/operators.ts';
import { type ControlRates, controlThreadProbe } from './control-thread.ts';
import type { MeasuredPart } from './measured-times.ts';
import {
  createPartProducts,
  measurePaces,
  measureParts,
  type PartProcessors,
  type PartsToMeasure,
} from './part-probes.ts';
import { sampleOf } from './sample.ts';

type Paces = NonNullable<PartTimes['paces']>;

/** Measurements of two processors that share the products of a model: HeteroLLM's real-execution mode (4.3). */
export interface PartsProfile {
  readonly model: string;
  /** Products of the first processor, and all that isn't a product. */
  readonly rates: ControlRates;
  /** The share of its speed that each keeps while the other computes, in prompts and for tokens. */
  readonly paces: { readonly prefill: Paces; readonly decode: Paces };
  readonly parts: readonly MeasuredPart[];
}

/** Tokens of the product with which it is measured what processors take from each other in prompts. */
const PACE_TOKENS = 64;
/** Steps of the progress in addition to those of parts. */
export const OTHER_STEPS = 2;

/**
 * Prepares to measure, as often as asked, every part of a model's operators by itself, what isn't a product, and both
 * processors side by side.
 * @returns what measures, and calls `onPart` with each of its steps: one for each part, and OTHER_STEPS
 */
export function createPartsProfiler(
  model: Model,
  { parts, ...processors }: PartProcessors & Pick<PartsToMeasure, 'parts'>,
): (onPart: PartsToMeasure['onPart']) => Promise<PartsProfile> {
  const { rows, columns } = modelOperators(model)['gate-up'];
  const paced = { prefill: { rows, columns, tokens: PACE_TOKENS }, decode: { rows, columns, tokens: 1 } };
  const products = createPartProducts(processors, [...parts, paced.prefill]);
  const control = controlThreadProbe(processors.main, model);
  return async (onPart) => {
    onPart('the CPU');
    const rates = await control();
    onPart('both processors side by side');
    const paces = {
      prefill: await measurePaces(products, paced.prefill),
      decode: await measurePaces(products, paced.decode),
    };
    return { model: model.name, rates, paces, parts: await measureParts({ products, parts, onPart }) };
  };
}

/** The medians of what was measured several times. @param profiles at least one, of the same parts */
export function medianParts(profiles: readonly PartsProfile[]): PartsProfile {
  const median = (of: (profile: PartsProfile) => number): number => sampleOf(profiles.map(of)).median;
  const pace = (phase: 'prefill' | 'decode'): Paces => ({
    gpu: median(({ paces }) => paces[phase].gpu),
    npu: median(({ paces }) => paces[phase].npu),
  });
  const [{ model, rates, parts }] = profiles as readonly [PartsProfile];
  return {
    model,
    rates: Object.fromEntries(RATES.map((key) => [key, median((one) => one.rates[key])])) as unknown as typeof rates,
    paces: { prefill: pace('prefill'), decode: pace('decode') },
    parts: parts.map((part, index) => ({
      ...part,
      seconds: median((one) => (one.parts[index] as MeasuredPart).seconds),
    })),
  };
}

const RATES = ['flops', 'bandwidth', 'attention', 'promptAttention', 'activations', 'dispatch'] as const;
const SIZES = ['rows', 'columns', 'tokens'] as const;

export function partsText(profile: PartsProfile): string {
  const { parts, ...others } = profile;
  const lines = parts.map((part) => `    ${JSON.stringify(part)}`);
  return `${JSON.stringify(others, null, 2).slice(0, -2)},\n  "parts": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** @throws InputError with the place of what isn't as `partsText` writes it, or for a profile of another model */
export function parseParts(text: string, file: string, model: Model): PartsProfile {
  const fields = readFields(parseJson(text, file), file, '', () => {});
  const name = fields.text('model');
  if (name !== model.name)
    throw new InputError(`${file}: model`, `is "${name}", not "${model.name}"; profile this model’s parts`);
  const paces = fields.object('paces');
  const rates = fields.object('rates');
  const profile = {
    model: name,
    rates: Object.fromEntries(RATES.map((key) => [key, rates.amount(key)])) as unknown as ControlRates,
    paces: { prefill: readPaces(paces.object('prefill')), decode: readPaces(paces.object('decode')) },
    parts: fields.list('parts').map(readPart),
  };
  for (const one of [rates, paces, fields]) one.end();
  return profile;
}

function readPaces(fields: Fields): Paces {
  const read = (key: 'gpu' | 'npu'): number => {
    const pace = fields.amount(key);
    if (pace > 0 && pace <= 1) return pace;
    throw new InputError(fields.place(key), `is ${pace}; a share of speed is above 0 and at most 1`);
  };
  const paces = { gpu: read('gpu'), npu: read('npu') };
  fields.end();
  return paces;
}

function readPart(fields: Fields): MeasuredPart {
  const processor = fields.oneOf('processor', ['gpu', 'npu']);
  const [rows, columns, tokens] = SIZES.map((key) => fields.amount(key)) as [number, number, number];
  const seconds = fields.amount('seconds');
  if (seconds === 0) throw new InputError(fields.place('seconds'), 'is 0; a part takes time');
  fields.end();
  return { processor, rows, columns, tokens, seconds };
}
