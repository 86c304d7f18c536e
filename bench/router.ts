/** Measures only the router: it finds the routes and parts of targets. */

import { routerOf } from '../spec/surface/table.ts';
import { Span } from '../src/base/span.ts';
import { GET } from '../src/http/methods.ts';
import { RequestHead } from '../src/http/request-head.ts';
import { resolveTarget } from '../src/http/target.ts';
import type { Bench } from './harness.ts';

const TARGETS = {
  'map entry': '/grid/rest/maps/bench/k1234',
  'map entry, escaped': '/grid/rest/maps/bench/name%2Fwith%40all.of',
  'map entry, long key': `/grid/rest/maps/bench/${'k'.repeat(1000)}`,
  'queue size': '/grid/rest/queues/bench/size',
  cluster: '/grid/rest/cluster',
  health: '/grid/health',
  nowhere: '/favicon.ico',
};

export const bench: Bench = {
  name: 'router',
  about: 'targets resolved and matched, by the kind of their resource',
  run(harness) {
    const router = routerOf();
    const parts = { nameStart: 0, nameEnd: 0, keyStart: 0, keyEnd: 0 };
    for (const [name, target] of Object.entries(TARGETS)) {
      const bytes = Buffer.from(target);
      const head = new RequestHead();
      const host = new Span();
      head.method = GET;
      harness.measure({
        name,
        operations: harness.pick(1000, 1_000_000),
        batch: 32,
        run(_, count) {
          for (let done = 0; done < count; done++) {
            head.target.set(bytes, 0, bytes.length);
            resolveTarget(head, host);
            router.match(head, parts);
          }
        },
      });
    }
  },
};
