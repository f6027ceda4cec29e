export * from '../report/charts/axis.ts';
