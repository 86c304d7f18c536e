/**
 * Covers src/http/served-hosts.ts and src/surface/page-fields.ts. The listeners that check Host,
 * and the settings that add names to those they serve, over real sockets.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { type MemberOptions, startMember } from '../../src/index.ts';
import { TEST_MEMORY } from './member-process.ts';

const EVIL = 'evil.example';
const NAMES = ['localhost', '127.0.0.1', EVIL, 'grid.example.org', 'a.example.net'];

/** Returns the names that a member with these options serves on its data port. */
async function servedNames(options: MemberOptions): Promise<string[]> {
  const limits = { port: 0, healthPort: 0, groups: ['DATA'], maxMemory: TEST_MEMORY } as const;
  const member = await startMember({ ...limits, ...options });
  try {
    const { port, healthPort = 0 } = member;
    assert.equal(await statusOf(port, EVIL, 'health/live'), 200);
    assert.equal(await statusOf(healthPort, EVIL, 'health/ready'), 200);
    const statuses = await Promise.all(
      NAMES.map((name) => statusOf(port, `${name}:5701`, 'rest/maps/m/k')),
    );
    assert(statuses.every((status) => status === 204 || status === 403));
    return NAMES.filter((_, index) => statuses[index] === 204);
  } finally {
    await member.drain();
  }
}

async function statusOf(port: number, host: string, path: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  const fields = `Host: ${host}\r\nConnection: close`;
  socket.write(`GET /grid/${path} HTTP/1.1\r\n${fields}\r\n\r\n`);
  return Number((await text(socket)).split(' ')[1]);
}

const OWN = NAMES.slice(0, 2);
const rows: readonly (readonly [string, MemberOptions, readonly string[]])[] = [
  ['on 127.0.0.1 serves its own names', {}, OWN],
  [
    'serves the name of its public address',
    { host: '127.0.0.1', config: publicly(`${NAMES[3]}:80`) },
    NAMES.slice(0, 4).filter((name) => name !== EVIL),
  ],
  [
    'serves the names of an option',
    { allowedHosts: ['grid.example.org'] },
    [...OWN, 'grid.example.org'],
  ],
  [
    'serves the names of a variable',
    { environment: { GRID_NETWORK_RESTAPI_ALLOWEDHOSTS: '*.example.net, x' } },
    [...OWN, 'a.example.net'],
  ],
  ['serves every name if * is listed', { allowedHosts: ['*'] }, NAMES],
  ['on all interfaces serves every name', { host: '0.0.0.0' }, NAMES],
  [
    'on all interfaces serves the names that are listed',
    { host: '0.0.0.0', allowedHosts: [EVIL] },
    [...OWN, EVIL],
  ],
];

for (const [title, options, names] of rows) {
  test(`a member ${title}`, async () => assert.deepEqual(await servedNames(options), names));
}

function publicly(address: string): object {
  return { grid: { network: { 'public-address': address, 'rest-api': { enabled: true } } } };
}
