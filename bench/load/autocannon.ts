/**
 * Runs autocannon as a separate program. Its first argument is its options as JSON, with the
 * requests of generator.ts; it prints its result as JSON. autocannon's own command line accepts
 * only one path.
 */
import { createRequire } from 'node:module';
import { KEY, keyOf, type Request } from './request.ts';

/** Must be equal to the constant in requests.lua. */
const STRIDE = 7919;
const REQUESTS_MAX = 10_000;

interface Options {
  readonly requests: readonly Request[];
  readonly keyCount: number;
}

type Autocannon = (options: object) => Promise<object>;

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;
const { requests, keyCount, ...options } = JSON.parse(process.argv[2] ?? '') as Options;
const kinds = requests.flatMap((request) => Array<Request>(request.times ?? 1).fill(request));
const list = Array.from({ length: Math.max(kinds.length, Math.min(keyCount, REQUESTS_MAX)) });

const result = await autocannon({
  ...options,
  requests: list.map((_, index) => written(kinds[index % kinds.length]!, index)),
});
process.stdout.write(JSON.stringify(result));

function written({ method, target, bodyBytes }: Request, index: number): object {
  const path = target.replace(KEY, keyOf((index * STRIDE) % keyCount));
  if (bodyBytes === undefined) return { method, path };
  const headers = { 'Content-Type': 'text/plain' };
  return { method, path, headers, body: 'x'.repeat(bodyBytes) };
}
