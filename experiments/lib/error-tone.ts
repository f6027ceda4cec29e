export * from '../report/error-tone.ts';
