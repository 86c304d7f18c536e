/**
 * Members on one server and on a Cluster, over real sockets: the cases of maps and queues, and
 * random requests, whose responses must equal those of a member that stores its own data.
 */
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { assertSame, dateless, scriptsOf } from '../http/random-requests.ts';
import { dataCases, type ServedMember } from '../integration/data.case.ts';
import { memberWith } from '../integration/member-on.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';
import { EngineServer } from './engine-server.ts';
import { startCluster } from './server-group.ts';

const REQUESTS = 4000;
const SEED = Number(process.env.REST_SEED ?? Date.now() % 1_000_000_000);
const LAST = 'GET /grid/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

/** A server or a Cluster for members. */
interface Servers {
  readonly url: string;
  end(): Promise<void>;
}

const SERVERS: readonly (readonly [string, () => Promise<Servers>])[] = [
  ['on one server', onOneServer],
  ['on a Cluster', () => startCluster()],
];

async function onOneServer(): Promise<Servers> {
  const server = await EngineServer.start();
  return { url: `redis://127.0.0.1:${server.port}`, end: () => server.stop() };
}

for (const [name, start] of SERVERS) {
  describe(name, () => {
    let servers: Servers;
    before(async () => {
      servers = await start();
    });
    after(() => servers.end());

    dataCases(`a member ${name}`, () => memberWith({ engineUrl: servers.url }));

    it(`a member responds to random requests as a member with its own data does (seed ${SEED})`, async () => {
      const scripts = scriptsOf(SEED, REQUESTS);
      const [one, other] = [
        await memberWith({ engineUrl: servers.url, clusterName: 'random' }),
        await memberWith({ maxMemory: TEST_MEMORY, clusterName: 'random' }),
      ];
      try {
        const responses = (member: ServedMember) =>
          Promise.all(scripts.map((script) => received(member, script.join(''))));
        const [actual, expected] = await Promise.all([responses(one), responses(other)]);
        assertSame(actual, expected, scripts);
      } finally {
        await Promise.all([one.drain(), other.drain()]);
      }
    });
  });
}

/** All responses of the member to the requests, without Date. */
function received(member: ServedMember, requests: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(member.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(dateless(text)));
    socket.write(requests + LAST, 'latin1');
  });
}
