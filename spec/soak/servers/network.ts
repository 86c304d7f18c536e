/**
 * Network namespaces on this machine, each a host with an address, connected by a router. The
 * router can drop all packets between two hosts without an error to either. The namespace of the
 * test is also a host. Needs root and `ip` (Debian package iproute2).
 */
import { execFileSync } from 'node:child_process';
import type { Place } from '../../peers/server-group.ts';

/** Address range for benchmark networks (RFC 2544). */
const NETWORK = '198.18';
const OWN = 250;

export class Network {
  readonly places: readonly Place[];
  /** Address of the test. */
  readonly ownHost = hostOf(OWN);
  readonly #router: string;
  readonly #names: readonly string[];
  readonly #link: string;
  readonly #cuts: (readonly [string, string])[] = [];

  constructor(count: number) {
    const id = `gn${process.pid}`;
    this.#router = `${id}r`;
    this.#link = id;
    this.#names = Array.from({ length: count }, (_, index) => `${id}n${index + 1}`);
    this.places = this.#names.map((name, index) => {
      return { host: hostOf(index + 1), runner: ['ip', 'netns', 'exec', name] };
    });
    try {
      this.#make();
    } catch (error) {
      this.end();
      throw new Error('Cannot make network namespaces: run as root, apt-get install iproute2', {
        cause: error,
      });
    }
  }

  /** Drops all packets between the two hosts from now on. */
  cut(one: string, other: string): void {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      this.#cuts.push([from, to]);
      this.#rule('add', from, to);
    }
  }

  heal(): void {
    for (const [from, to] of this.#cuts.splice(0)) this.#rule('del', from, to);
  }

  end(): void {
    for (const name of [...this.#names, this.#router]) {
      try {
        ip('netns', 'del', name);
      } catch {
        // The namespace was not created.
      }
    }
  }

  #make(): void {
    ip('netns', 'add', this.#router);
    const forward = ['sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'];
    ip('netns', 'exec', this.#router, ...forward);
    for (const [index, name] of this.#names.entries()) {
      ip('netns', 'add', name);
      ip('-n', name, 'link', 'set', 'lo', 'up');
      this.#join(index + 1, 'eth', ['-n', name]);
    }
    this.#join(OWN, this.#link, []);
  }

  /** Links a host to the router. `within`: arguments of `ip` that select the host's namespace. */
  #join(number: number, link: string, within: readonly string[]): void {
    const router = this.#router;
    const port = `port${number}`;
    const own = within.length === 0 ? ['name', link] : ['name', link, 'netns', within[1]!];
    ip('link', 'add', port, 'netns', router, 'type', 'veth', 'peer', ...own);
    ip('-n', router, 'addr', 'add', `${NETWORK}.${number}.1/24`, 'dev', port);
    ip('-n', router, 'link', 'set', port, 'up');
    ip(...within, 'addr', 'add', `${hostOf(number)}/24`, 'dev', link);
    ip(...within, 'link', 'set', link, 'up');
    ip(...within, 'route', 'add', `${NETWORK}.0.0/16`, 'via', `${NETWORK}.${number}.1`);
  }

  #rule(verb: 'add' | 'del', from: string, to: string): void {
    ip('-n', this.#router, 'rule', verb, 'from', from, 'to', to, 'blackhole');
  }
}

function hostOf(number: number): string {
  return `${NETWORK}.${number}.2`;
}

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}
