export * from '../report/charts/chart.ts';
