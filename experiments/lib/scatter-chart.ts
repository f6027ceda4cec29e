export * from '../report/charts/scatter.ts';
