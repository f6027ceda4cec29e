import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import { DEFAULT_RUNTIME } from '../../engine/cost/runtime.ts';
import { formatBytes } from '../../engine/terminal/format.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Section } from '../lib/report.ts';
import type { SweepReport } from './report-inputs.ts';

const RECLAIM: Readonly<Record<ReclaimPolicy, { readonly text: string; readonly source: string }>> = {
  overflow: {
    text: 'of weights that exceed the RAM, what does not fit is reloaded (prima.cpp Eqs. 15–17)',
    source: 'published',
  },
  lru: { text: 'a cyclic scan of weights that exceed the RAM reloads all of them', source: 'assumed' },
  double: { text: 'as lru, and what is prefetched is loaded twice', source: 'assumed' },
};

/** What all of a sweep's numbers rest on, with the source of each. */
export function assumptions({ clusters, catalogue, reclaim, belief }: SweepReport): Section {
  const { cpuBufferBytes, gpuBufferBytes, activationBytes } = DEFAULT_RUNTIME;
  const names = new Set(clusters.flatMap(({ results }) => results.rows.map((row) => row.model.model.name)));
  const model: readonly (readonly string[])[] = [
    ['formulas', 'prima.cpp Eqs. 11–19: sums, no overlap between devices, disk and network', 'published'],
    ['reclaim', `${reclaim}: ${RECLAIM[reclaim].text}`, RECLAIM[reclaim].source],
    ['buffers', `${formatBytes(cpuBufferBytes)} of RAM, ${formatBytes(gpuBufferBytes)} of VRAM per device`, 'assumed'],
    ['activations', `${activationBytes} bytes per value between devices (prima.cpp A.3)`, 'published'],
    ['KV cache', '2 bytes per value (F16)', 'published'],
    ...catalogue
      .filter(({ shape }) => names.has(shape.name))
      .map(({ shape, provenance }) => {
        const [kind = '', ...rest] = provenance.split(':');
        return [shape.name, `shape: ${rest.join(':').trim() || 'no source stated'}`, kind || 'unstated'];
      }),
  ];
  const seen =
    belief === undefined ? '' : ` The schedulers were shown ${belief}; their plans are judged on the true cluster.`;
  return {
    title: 'What this rests on',
    blocks: [
      {
        kind: 'text',
        text: `${clusters.map(({ truth, statements }) => provenanceSentence(truth.name, statements)).join(' ')}${seen}`,
      },
      {
        kind: 'table',
        title: 'The model',
        columns: [{ title: 'part', label: true }, { title: 'assumption' }, { title: 'source' }],
        rows: model,
      },
      ...clusters.map(({ truth, statements }) => statementsTable(truth.name, statements)),
    ],
  };
}
