import type { Fields } from '../input/read-fields.ts';
import { LAYER_OPERATORS, OPERATORS } from '../model/operators.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from './tensor-partition.ts';

/** Reads the `partition` of a stage; only its form is checked. @throws InputError with file and place */
export function readPartition(fields: Fields): TensorPartition {
  const partition: TensorPartition = {
    synchronisation: fields.oneOf('synchronisation', SYNCHRONISATIONS),
    graphs: fields.optionalOneOf('graphs', ['prepared', 'online']) ?? 'prepared',
    promptTokens: fields.amount('promptTokens'),
    prefill: readCuts(fields.object('prefill'), LAYER_OPERATORS),
    decode: readCuts(fields.object('decode'), OPERATORS),
  };
  fields.end();
  return partition;
}

function readCuts<Name extends string>(fields: Fields, names: readonly Name[]): Record<Name, OperatorCut> {
  const cuts = Object.fromEntries(names.map((name) => [name, readCut(fields.object(name))]));
  fields.end();
  return cuts as Record<Name, OperatorCut>;
}

function readCut(fields: Fields): OperatorCut {
  const npuRows = fields.amount('npuRows');
  const cut = {
    npuRows,
    npuLengths: npuRows === 0 && !fields.keys().includes('npuLengths') ? [] : fields.counts('npuLengths'),
  };
  fields.end();
  return cut;
}
