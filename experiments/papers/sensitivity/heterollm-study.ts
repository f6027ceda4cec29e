import { loadClusterFile } from '../../../datasets/load.ts';
import { HETEROLLM_MACHINE, heterollmRules } from '../heterollm/heterollm.ts';
import { calibratedQuantities, scaledCluster } from './scaled-cluster.ts';
import { numeric, type Study, simulatedAnswers, studiedCells } from './study.ts';

/** HeteroLLM: every calibrated quantity of its chip. */
export function heterollmStudy(): Study {
  const parameters = calibratedQuantities(HETEROLLM_MACHINE);
  const rulesOf = (parameter: number | undefined, factor: number) => {
    const quantity = parameter === undefined ? undefined : parameters[parameter];
    const { cluster } = quantity === undefined ? loadClusterFile(HETEROLLM_MACHINE) : scaledCluster(quantity, factor);
    return numeric(heterollmRules(cluster).rules);
  };
  return {
    paper: 'heterollm',
    parameters,
    cells: studiedCells(rulesOf(undefined, 1)),
    answers: (parameter, factor) => simulatedAnswers(rulesOf(parameter, factor)),
    dispose: () => {},
  };
}
