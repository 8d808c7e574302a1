import fc from 'fast-check';

/**
 * Property tests take the same path each time, so that a failure is met by who caused it. `SEED=N` takes another.
 * fast-check prints the seed of a failure.
 */
fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 20) });
