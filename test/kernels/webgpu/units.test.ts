import { test } from 'uvu';
import { testChecks } from '../../support/gpu.ts';
import { UNIT_CHECKS } from './unit-checks.ts';

testChecks(UNIT_CHECKS);

test.run();
