#!/usr/bin/env node
// TypeScript runs as it is: tsx compiles while it loads.
import { register } from 'tsx/esm/api';

register();
await import('../engine/cli.ts');
