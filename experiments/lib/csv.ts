export * from '../report/csv.ts';
