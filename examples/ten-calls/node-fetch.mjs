/**
 * Ten calls with `fetch`, which is part of Node. Run: node node-fetch.mjs
 *
 * GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
 */
const GRID = process.env.GRIDNODE_URL ?? 'http://127.0.0.1:5701/grid';
/** Longer than the longest poll. */
const TIMEOUT_MS = 10_000;

/**
 * Sends a request; returns content type and content, or ends the program. `fetch` keeps connections
 * and sends no request twice. Do not add a retry for queues: a second offer adds the item twice, a
 * second poll removes another item.
 */
async function call(step, expected, method, path, body, type) {
  const headers = type === undefined ? {} : { 'Content-Type': type };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let response;
  let content;
  try {
    response = await fetch(GRID + path, { method, body, headers, signal });
    // `text()` would replace bytes that are not UTF-8.
    content = Buffer.from(await response.arrayBuffer());
  } catch (error) {
    fail(`${step}: no response: ${error.cause?.message ?? error.message}`);
  }
  const { status } = response;
  if (status !== expected) fail(`${step}: status ${status}, expected ${expected}: ${content}`);
  return [response.headers.get('Content-Type') ?? '', content];
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const entry = `/rest/maps/example-people/${encodeURIComponent('Zoë/1')}`;
const queue = '/rest/queues/example-jobs';

await call('put', 200, 'POST', entry, '{"name":"Zoë"}', 'application/json');
console.log('put: 200');
let [type, content] = await call('get', 200, 'GET', entry);
console.log(`get: 200, ${type}, ${content}`);
await call('get missing', 204, 'GET', '/rest/maps/example-people/nobody');
console.log('get missing: 204');
await call('delete', 200, 'DELETE', entry);
console.log('delete: 200');
await call('clear', 200, 'DELETE', '/rest/maps/example-people');
console.log('clear: 200');

// A 503 without content means that the queue is full.
const item = Buffer.from([0x00, 0xff, 0x0a, 0x80]);
await call('offer', 200, 'POST', queue, item, 'application/octet-stream');
console.log('offer: 200');
[, content] = await call('size', 200, 'GET', `${queue}/size`);
console.log(`size: ${content}`);
// A poll waits up to the given number of seconds.
[type, content] = await call('poll', 200, 'DELETE', `${queue}/1`);
console.log(`poll: 200, ${type}, ${content.toString('hex')}`);
await call('poll empty', 204, 'DELETE', `${queue}/1`);
console.log('poll empty: 204');
await call('ready', 200, 'GET', '/health/ready');
console.log('ready: 200');
