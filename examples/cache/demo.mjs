/**
 * Callers of a slow service through a cache. Run: node demo.mjs
 *
 * GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Cache } from './cache.mjs';

const GRID = process.env.GRIDNODE_URL ?? 'http://127.0.0.1:5701/grid';
const MAP = 'rest/maps/example-cache';

let calls = 0;

/** The slow service. */
async function priceOf(product) {
  calls++;
  await sleep(200);
  return Buffer.from(`${product} costs ${product.length} €`);
}

const cache = new Cache(`${GRID}/${MAP}`, fail);
await cache.delete('tea').catch(({ cause, message }) => fail(cause?.message ?? message));
await cache.delete('coffee');

console.log(`first: ${await cache.get('tea', priceOf)}, calls of the service: ${calls}`);
console.log(`again: ${await cache.get('tea', priceOf)}, calls of the service: ${calls}`);
await Promise.all(Array.from({ length: 100 }, () => cache.get('coffee', priceOf)));
console.log(`a hundred callers at a time, calls of the service: ${calls}`);
await cache.delete('tea');
await cache.get('tea', priceOf);
console.log(`after a change of the price, calls of the service: ${calls}`);

// Nothing listens on port 2. The log gets one warning, not one for each caller.
let warnings = 0;
const unreachable = new Cache(`http://127.0.0.1:2/grid/${MAP}`, () => warnings++);
for (const product of ['tea', 'tea', 'milk']) await unreachable.get(product, priceOf);
console.log(`without a member, calls of the service: ${calls}, warnings: ${warnings}`);

function fail(message) {
  console.error(`cache: ${message}`);
  process.exit(1);
}
