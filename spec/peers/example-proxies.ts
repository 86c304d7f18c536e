/** The proxies of packaging/ with their examples, adapted to this machine, without privileges. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { isListening } from './engine-server.ts';
import { packaged } from './packaged-files.ts';
import { until } from './server-process.ts';
import { requireProgram } from './tools.ts';

export type ProxyName = 'haproxy' | 'nginx';
/** Returns the arguments of a proxy with its adapted example, which it writes into the folder. */
type WordsOf = (folder: string, adapt: (text: string) => string) => string[];

/** The ports of a member behind a proxy. */
export interface MemberPorts {
  readonly port: number;
  readonly healthPort: number;
}

export const PROXIES: Readonly<Record<ProxyName, WordsOf>> = {
  haproxy(folder, adapt) {
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, adapt(packaged('haproxy.cfg')));
    return ['-db', '-f', file];
  },
  nginx(folder, adapt) {
    const site = join(folder, 'site.conf');
    writeFileSync(site, adapt(packaged('nginx.conf')));
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ');
    const main = join(folder, 'nginx.conf');
    const inner = `access_log off; ${paths} include ${site};`;
    const begin = `daemon off; master_process off; pid ${folder}/pid; events {}`;
    writeFileSync(main, `${begin} http { ${inner} }`);
    return ['-e', join(folder, 'error.log'), '-c', main];
  },
};

/** A running proxy with its example, in front of the members. */
export class ExampleProxy {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.#child = child;
  }

  /** Resolves once the proxy accepts connections. */
  static async start(name: ProxyName, members: readonly MemberPorts[]): Promise<ExampleProxy> {
    requireProgram(name);
    const port = await freePort();
    const words = PROXIES[name](temporaryFolder(), (text) => adapted(text, port, members));
    const child = spawn(name, words, { stdio: 'ignore' });
    await until(async () => child.exitCode !== null || (await isListening(port)));
    return new ExampleProxy(port, child);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) throw new Error('The proxy has ended');
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

/** Returns an example with these ports, and one line of its server for each member. */
function adapted(text: string, port: number, members: readonly MemberPorts[]): string {
  const [server] = /^ +server .*:5701.*$/m.exec(text) ?? [];
  if (server === undefined) throw new Error('The example has no server');
  const servers = members.map((member, at) =>
    server
      .replace(' m0 ', ` m${at} `)
      .replace('5701', String(member.port))
      .replace('5702', String(member.healthPort)),
  );
  return text.replace(':8080', `:${port}`).replace(server, servers.join('\n'));
}
