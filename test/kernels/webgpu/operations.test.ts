import { test } from 'uvu';
import { testChecks } from '../../support/gpu.ts';
import { OPERATION_CHECKS } from './operation-checks.ts';

testChecks(OPERATION_CHECKS);

test.run();
