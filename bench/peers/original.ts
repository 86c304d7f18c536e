/**
 * The original grid, from the jar at the path `ORIGINAL_JAR`: members with REST enabled and
 * otherwise default settings.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchangeOf } from '../load/request.ts';
import { asMember, type Command, findProgram, type Peer, type Place } from './peer.ts';

const STARTER = 'com.hazelcast.core.server.HazelcastMemberStarter';
const HEAP = '-Xmx2g';
const MEMBER = asMember('hazelcast');

export const ORIGINAL: Peer = {
  request: MEMBER.request,
  // With many writes in progress on a connection, it may stop responding on it for good.
  exchange(operation, valueBytes) {
    const exchange = MEMBER.exchange(operation, valueBytes);
    return exchange && { ...exchange, depthMax: 1 };
  },
  name: 'original',
  install:
    'apt-get install openjdk-17-jdk-headless maven; ' +
    'mvn dependency:get -Dartifact=com.hazelcast:hazelcast:5.7.0 -Dtransitive=false; ' +
    'export ORIGINAL_JAR=~/.m2/repository/com/hazelcast/hazelcast/5.7.0/hazelcast-5.7.0.jar',
  isInstalled: () => existsSync(jar()) && findProgram('java') !== undefined,
  stores: true,
  commands: (place) => [originalMember(place, [])],
  ready: exchangeOf({ method: 'GET', target: '/hazelcast/health/ready' }),
  dataBytes: heapBytes,
};

function jar(): string {
  return process.env.ORIGINAL_JAR ?? '';
}

/**
 * Returns a member of the original. `members` has the ports of all members of its cluster, for
 * which it waits before it serves; empty for a single member.
 */
export function originalMember(place: Place, members: readonly number[]): Command {
  const file = join(place.folder, `original-${place.port}.yaml`);
  writeFileSync(file, configuration(place, members));
  return ['java', HEAP, `-Dhazelcast.config=${file}`, '-cp', jar(), STARTER];
}

function configuration({ port }: Place, members: readonly number[]): string {
  const addresses = members.map((each) => `"127.0.0.1:${each}"`).join(', ');
  const tcpIp = `{enabled: ${members.length > 0}, member-list: [${addresses}]}`;
  return `hazelcast:
  network:
    port: {port: ${port}, auto-increment: false}
    public-address: 127.0.0.1
    interfaces: {enabled: true, interfaces: [127.0.0.1]}
    join: {auto-detection: {enabled: false}, multicast: {enabled: false}, tcp-ip: ${tcpIp}}
    rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}
  properties:
    hazelcast.phone.home.enabled: "false"
    hazelcast.socket.bind.any: "false"
    hazelcast.initial.min.cluster.size: "${Math.max(members.length, 1)}"
`;
}

/** Bytes of its heap after a full collection, which the object histogram triggers. */
function heapBytes(pid: number): number {
  const words = [String(pid), 'GC.class_histogram'];
  const lines = execFileSync('jcmd', words, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return Number(/^Total\s+\d+\s+(\d+)/m.exec(lines)?.[1]);
}
