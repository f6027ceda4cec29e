import { type LoadedCluster, loadClusterFile } from '../../../datasets/load.ts';
import type { HelmConstants } from '../helm/constants.ts';
import { fitHelm, HELM_MACHINES, helmInputs } from '../helm/helm.ts';
import { helmRules } from '../helm/rules.ts';
import { type CalibratedQuantity, calibratedQuantities, scaledCluster } from './scaled-cluster.ts';
import { numeric, type Parameter, type Study, simulatedAnswers, studiedCells } from './study.ts';

/** A constant of HelmConstants, of one machine where it has several. */
interface Constant extends Parameter {
  readonly key: keyof HelmConstants;
  readonly machine: string | undefined;
}

/** HELM: every fitted constant, and every calibrated quantity of its machines. Nothing is fitted anew. */
export function helmStudy(): Study {
  const stated = helmInputs();
  const { fitted, constants } = fitHelm(stated);
  const parameters: readonly (Constant | CalibratedQuantity)[] = [
    ...constantsOf(constants),
    ...HELM_MACHINES.flatMap(calibratedQuantities),
  ];
  const rulesOf = (parameter: number | undefined, factor: number) => {
    const one = parameter === undefined ? undefined : parameters[parameter];
    if (one === undefined) return numeric(helmRules({ ...stated, constants, fitted }));
    if ('key' in one) return numeric(helmRules({ ...stated, constants: scaled(constants, one, factor), fitted }));
    const machineOf = (name: string): LoadedCluster =>
      name === one.cluster ? scaledCluster(one, factor) : loadClusterFile(name);
    return numeric(helmRules({ ...helmInputs(machineOf), constants, fitted }));
  };
  return {
    paper: 'helm',
    parameters,
    cells: studiedCells(rulesOf(undefined, 1)),
    answers: (parameter, factor) => simulatedAnswers(rulesOf(parameter, factor)),
    dispose: () => {},
  };
}

function constantsOf(constants: HelmConstants): Constant[] {
  return (Object.entries(constants) as [keyof HelmConstants, HelmConstants[keyof HelmConstants]][]).flatMap(
    ([key, value]): Constant[] => {
      if (typeof value === 'number')
        return [{ key, machine: undefined, name: key, value: shown(value), kind: 'fitted' }];
      return Object.entries(value).map(([machine, own]) => ({
        ...{ key, machine, name: `${machine}: ${key}`, value: shown(own), kind: 'fitted' as const },
      }));
    },
  );
}

function scaled(constants: HelmConstants, { key, machine }: Constant, factor: number): HelmConstants {
  const value = constants[key];
  if (typeof value === 'number') return { ...constants, [key]: value * factor };
  return { ...constants, [key]: { ...value, [machine as string]: (value[machine as string] as number) * factor } };
}

/** Three digits, in SI units: constants are seconds, shares and bytes per second. */
function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}
