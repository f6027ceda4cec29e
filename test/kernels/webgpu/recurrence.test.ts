import { test } from 'uvu';
import { testChecks } from '../../support/gpu.ts';
import { RECURRENCE_CHECKS } from './recurrence-checks.ts';

testChecks(RECURRENCE_CHECKS);

test.run();
