import { describe } from 'vitest';
import { checkForwarding } from './forwarding-checks.ts';

describe('Endpoints', () => checkForwarding({ mode: 'Endpoints' }));
