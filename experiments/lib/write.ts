export * from '../report/write.ts';
