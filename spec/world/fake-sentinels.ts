/** Sentinels that monitor a primary by the name `grid`. */
import { addressText, type ServerAddress } from '../../src/base/server-address.ts';
import { array, bulk, FakeServer, type Script, SILENCE } from './fake-server.ts';
import type { World } from './world.ts';

export class FakeSentinels {
  readonly servers: readonly FakeServer[];
  /** The primary that each of them names; undefined if it does not reply. */
  named: readonly (ServerAddress | undefined)[];

  constructor(world: World, count: number, primary?: ServerAddress) {
    this.servers = Array.from({ length: count }, (_, index) => {
      const server = new FakeServer(world, (words) => this.#reply(index, words));
      server.mode = 'sentinel';
      return server;
    });
    this.named = this.servers.map(() => primary);
  }

  get url(): string {
    const addresses = this.servers.map(({ address }) => addressText(address));
    return `redis://${addresses.join(',')}?sentinel=grid`;
  }

  /** All name another primary, and report the change. */
  switchTo(primary: ServerAddress): void {
    this.named = this.servers.map(() => primary);
    for (const server of this.servers) server.publish('message', '+switch-master', 'grid');
  }

  #reply(index: number, [name, call, monitored]: Parameters<Script>[0]): string | undefined {
    if (name !== 'SENTINEL') return undefined;
    const primary = this.named[index];
    if (primary === undefined) return SILENCE;
    if (call === 'MYID') return bulk(`id ${index}`);
    if (monitored !== 'grid') return '*-1\r\n';
    if (call !== 'SENTINELS') return array([primary.host, `${primary.port}`].map(bulk));
    const others = this.servers.filter((_, other) => other !== index);
    return array(
      others.map(({ address: { host, port } }) =>
        array(['name', 'n', 'ip', host, 'port', `${port}`].map(bulk)),
      ),
    );
  }
}
