/**
 * A package registry on this machine that serves only the installed versions of some packages. It
 * records the requests: the packages that an installation would fetch.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ROOT, runChecked } from './tools.ts';

export interface Registry {
  readonly url: string;
  /** Names of the requested packages. */
  readonly requested: ReadonlySet<string>;
  close(): void;
}

/** Starts a registry of the packages; their tarballs are stored in `folder`. */
export async function startRegistry(names: readonly string[], folder: string): Promise<Registry> {
  const tarballs = new Map<string, Buffer>();
  const documents = new Map<string, object>();
  const requested = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const tarball = tarballs.get(path);
    const document = documents.get(path);
    if (tarball === undefined) requested.add(path.slice(1));
    if (tarball !== undefined) response.end(tarball);
    else if (document !== undefined) response.end(JSON.stringify(document));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of names) {
    const from = join(ROOT, 'node_modules', name);
    const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
    const { version } = manifest;
    const words = ['pack', from, '--ignore-scripts', '--pack-destination', folder];
    await runChecked('npm', words);
    const path = `/${name}/-/${name}-${version}.tgz`;
    tarballs.set(path, readFileSync(join(folder, `${name}-${version}.tgz`)));
    const dist = { tarball: url + path };
    const versions = { [version]: { ...manifest, dist } };
    documents.set(`/${name}`, { name, 'dist-tags': { latest: version }, versions });
  }
  return { url, requested, close: () => server.close() };
}
