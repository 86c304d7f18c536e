import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { resolveConfig } from '../../src/member/config.ts';
import type { SettingKey } from '../../src/member/settings.ts';
import { listenAsConfigured } from '../../src/servers/listening.ts';

const FILE = { kind: 'file', name: 'f:1:1' } as const;
const FLAG = { kind: 'flag', name: '--port' } as const;

/** Returns a listener that fails for ports below `free`, and the ports that it tried. */
function listenerAbove(free: number) {
  const tried: string[] = [];
  const listen = async (host: string, port: number): Promise<AddressInfo> => {
    tried.push(`${host}:${port}`);
    if (port < free) throw Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
    return { address: host, port, family: 'IPv4' };
  };
  return { tried, listen };
}

function configOf(...assignments: readonly (readonly [SettingKey, string])[]) {
  return resolveConfig(assignments.map(([key, text]) => ({ key, text, source: FILE })));
}

describe('listenAsConfigured', () => {
  it('skips ports in use, and tries at most port-count ports', async () => {
    const config = configOf(['port', '6000'], ['portCount', '3']);
    const listener = listenerAbove(6002);
    assert.equal((await listenAsConfigured(listener, config)).port, 6002);
    assert.deepEqual(listener.tried, ['127.0.0.1:6000', '127.0.0.1:6001', '127.0.0.1:6002']);
    await assert.rejects(listenAsConfigured(listenerAbove(6003), config), {
      code: 'ADDRESS_IN_USE',
      message: 'Cannot listen on 127.0.0.1:6000 to 6002: already in use',
    });
  });

  it('tries only one port if auto-increment is off, a flag sets the port, or it is 0', async () => {
    const off = configOf(['port', '6000'], ['portAutoIncrement', 'false']);
    const byFlag = resolveConfig([{ key: 'port', text: '6000', source: FLAG }]);
    for (const config of [off, byFlag, configOf(['port', '0'])]) {
      const listener = listenerAbove(7000);
      await assert.rejects(listenAsConfigured(listener, config), { code: 'EADDRINUSE' });
      assert.equal(listener.tried.length, 1);
    }
  });

  it('tries no port above 65535', async () => {
    const config = configOf(['port', '65534']);
    const listener = listenerAbove(70000);
    await assert.rejects(listenAsConfigured(listener, config), { code: 'ADDRESS_IN_USE' });
    assert.deepEqual(listener.tried, ['127.0.0.1:65534', '127.0.0.1:65535']);
  });

  it('listens on the address that matches the interfaces, unless a flag sets the host', async () => {
    const assignments = [
      ['interfacesEnabled', 'true'],
      ['interfaces', '203.0.113.*, 127.0.*.1-5'],
    ] as const;
    const listener = listenerAbove(0);
    assert.equal(
      (await listenAsConfigured(listener, configOf(...assignments))).address,
      '127.0.0.1',
    );
    const byFlag = resolveConfig([
      ...assignments.map(([key, text]) => ({ key, text, source: FILE })),
      { key: 'host', text: '127.0.0.9', source: { kind: 'flag', name: '--host' } },
    ]);
    assert.equal((await listenAsConfigured(listener, byFlag)).address, '127.0.0.9');
    const none = configOf(['interfacesEnabled', 'true'], ['interfaces', '203.0.113.4-18']);
    await assert.rejects(listenAsConfigured(listener, none), {
      code: 'ADDRESS_NOT_HERE',
      message: 'Cannot listen on 203.0.113.4-18: not an address of this host',
    });
  });
});
