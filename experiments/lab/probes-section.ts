import { clusterStatements } from '../../datasets/statements.ts';
import { formatBytes, formatSeconds } from '../../engine/terminal/format.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Section } from '../lib/report.ts';
import { limitChecks } from './limit-checks.ts';
import type { CellResult } from './run-cell.ts';
import type { LabSession } from './session.ts';

/** What a report of a lab rests on: probes, and whether the lab kept to its limits. */
export function probesSection({ facts, model, profile }: LabSession, results: readonly CellResult[]): Section {
  const statements = clusterStatements(JSON.parse(profile));
  const own = `${formatBytes(Math.min(...facts.ownBytes))} to ${formatBytes(Math.max(...facts.ownBytes))}`;
  const probes =
    `${model.name} (random weights, F16, ${formatBytes(model.bytes)}) on four devices that share this machine's ` +
    `processors. Probes, before the first cell: a hop takes ${formatSeconds(facts.hopSeconds)}; with everything in ` +
    `memory a token takes ${formatSeconds(facts.tokenSeconds)}; beside its weights a device takes ${own}, which is added ` +
    `to its limit; the kernel reads ${formatBytes(facts.readAhead)} ahead of page faults.`;
  return {
    title: 'What this rests on',
    blocks: [
      { kind: 'text', text: probes },
      { kind: 'text', text: `The lab's own limits: ${limitChecks(results).text}.` },
      { kind: 'text', text: provenanceSentence('The processor', statements) },
      statementsTable('the processor', statements),
    ],
  };
}
