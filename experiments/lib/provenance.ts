export * from '../report/provenance.ts';
