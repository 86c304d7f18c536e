/** The proxies of packaging/ with their examples, adapted to this machine, without privileges. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './tools.ts';

export type ProxyName = 'haproxy' | 'nginx';
/** Returns the arguments of a proxy with its adapted example, which it writes into the folder. */
type WordsOf = (folder: string, adapt: (text: string) => string) => string[];

/** Returns a file of packaging/. */
export function packaged(name: string): string {
  return readFileSync(join(ROOT, 'packaging', name), 'utf8');
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
