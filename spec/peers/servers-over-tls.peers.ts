/** Members on a server over TLS that requires a certificate and a password. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { memberWith } from '../integration/member-on.ts';
import { tlsFile } from '../tls/identity.ts';
import { EngineServer } from './engine-server.ts';
import { storeEngine } from './store-engines.ts';

const PASSWORD = 'pa55word';
const CLIENT = {
  cert: readFileSync(tlsFile('client.pem')),
  key: readFileSync(tlsFile('client-key.pem')),
};

let server: EngineServer;
let url: string;

before(async () => {
  const port = await freePort();
  const files = {
    ...{ 'cert-file': 'server.pem', 'key-file': 'server-key.pem', 'ca-cert-file': 'authority.pem' },
  };
  server = await EngineServer.start(
    ...['--tls-port', `${port}`, '--tls-auth-clients', 'yes', '--requirepass', PASSWORD],
    ...Object.entries(files).flatMap(([name, file]) => [`--tls-${name}`, tlsFile(file)]),
  );
  url = `rediss://localhost:${port}`;
});

after(() => server.stop());

/** The reason that an engine with these TLS options reports for the loss of the server. */
async function lossOf(options: SecureContextOptions): Promise<string> {
  const end = new AbortController();
  let opening: Promise<unknown> | undefined;
  const reason = await new Promise<string>((resolve) => {
    opening = storeEngine({
      login: { user: undefined, password: PASSWORD },
      tls: { secureContext: createSecureContext(options) },
      connect: (options, observer) => {
        const servers = new StoreServers(parseEngineUrl(url), options, observer);
        end.signal.addEventListener('abort', () => servers.close());
        return servers;
      },
      onLost: (_, { message }) => resolve(message),
    });
  });
  end.abort();
  await assert.rejects(async () => opening, /was closed before it was open/);
  return reason;
}

describe('a server over TLS', () => {
  it('serves a member with its authority, a certificate and the password', async () => {
    const member = await memberWith({
      ...{ engineUrl: url, enginePassword: PASSWORD },
      engineTlsCa: tlsFile('authority.pem'),
      engineTlsCertificate: tlsFile('client.pem'),
      engineTlsKey: tlsFile('client-key.pem'),
    });
    const client = new RawClient(member.port);
    const set = await client.request('POST', 'maps/m/k', Buffer.from('v'));
    assert.equal(set.status, 200);
    assert.equal((await client.request('GET', 'maps/m/k')).body.toString(), 'v');
    client.destroy();
    await member.drain();
  });

  it('is refused by a member if its certificate is from another authority', async () => {
    const ca = readFileSync(tlsFile('stranger.pem'));
    assert.match(await lossOf({ ca, ...CLIENT }), /certificate/);
  });

  it('refuses a member without a certificate', async () => {
    const ca = readFileSync(tlsFile('authority.pem'));
    assert.match(await lossOf({ ca }), /certificate|closed|ECONNRESET/i);
  });
});
