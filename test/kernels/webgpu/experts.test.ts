import { test } from 'uvu';
import { testChecks } from '../../support/gpu.ts';
import { EXPERT_CHECKS } from './expert-checks.ts';

testChecks(EXPERT_CHECKS);

test.run();
