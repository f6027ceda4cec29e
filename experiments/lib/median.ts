export * from '../report/median.ts';
