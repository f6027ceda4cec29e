import { test } from 'uvu';
import { testChecks } from '../../support/gpu.ts';
import { PRODUCT_CHECKS } from './product-checks.ts';

testChecks(PRODUCT_CHECKS);

test.run();
