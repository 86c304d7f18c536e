/**
 * Random requests made from the OpenAPI document, SOAK_CASES of them, from SOAK_SEED on; see
 * spec/surface/openapi/conformance.spec.ts.
 */
process.env.SOAK_CASES ??= '20000';
process.env.SOAK_SEED ??= String(Date.now() % 1_000_000);

await import('../surface/openapi/conformance.spec.ts');
