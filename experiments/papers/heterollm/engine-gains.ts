import type { PublishedCell } from '../../../datasets/published.ts';
import { ENGINES, type Engine, type EngineGains } from './quantities.ts';

const NAMES: Readonly<Record<Engine, string>> = { MNN: 'MNN-OpenCL', MLC: 'MLC', 'llama.cpp': 'llama.cpp' };

/** The printed speedups that each engine's two rates are fitted to. @throws RangeError where one isn't on file */
export function engineGains(cells: readonly PublishedCell[]): EngineGains {
  const printed = (table: string, row: string, column: string): number => {
    const found = cells.find((cell) => cell.table === table && cell.row === row && cell.column === column);
    if (typeof found?.value !== 'number') throw new RangeError(`no published number at ${table}, ${row}, ${column}`);
    return found.value;
  };
  const gains = ENGINES.map((engine) => {
    const prefill = printed('§5.2.1', 'Hetero-layer, Llama-8B, sequence length 256', `speedup over ${NAMES[engine]}`);
    const decode = printed(
      '§5.3',
      'Hetero-tensor, Llama-8B, prompt length 256',
      `decoding speedup over ${NAMES[engine]}`,
    );
    return [engine, { prefill, decode }];
  });
  return Object.fromEntries(gains) as EngineGains;
}
