#!/usr/bin/env node
// tsx compiles TypeScript while loading it.
import { register } from 'tsx/esm/api';

register();
await import('./hearth.ts');
