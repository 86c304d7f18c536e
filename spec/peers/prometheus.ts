/**
 * Debian's Prometheus with a configuration, and servers from which it gets the text format: it prefers
 * OpenMetrics, and Debian's version has no setting for that.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { temporaryFolder } from '../temporary-folder.ts';
import { type ScrapedPort, succeed } from './scraped-members.ts';
import { requireProgram } from './tools.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
}

export class Prometheus {
  /** The lines of its log that report a problem. */
  readonly problems: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #origin: string;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#origin = `http://127.0.0.1:${port}`;
    createInterface({ input: child.stderr! }).on('line', (text) => {
      const line = JSON.parse(text) as LogLine;
      if (line.level !== 'info') this.problems.push(line);
    });
  }

  /** Starts it with a configuration, written to the folder, in which its relative paths begin. */
  static start(config: object, folder: string, port: number): Prometheus {
    requireProgram('prometheus');
    const file = join(folder, 'prometheus.yml');
    writeFileSync(file, JSON.stringify(config));
    const words = [
      ...[`--config.file=${file}`, `--storage.tsdb.path=${temporaryFolder()}`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.format=json'],
    ];
    const child = spawn('prometheus', words, { stdio: ['ignore', 'ignore', 'pipe'] });
    return new Prometheus(child, port);
  }

  /** Evaluates an expression now. */
  async query(expression: string): Promise<Sample[]> {
    const query = new URLSearchParams({ query: expression });
    const response = await fetch(`${this.#origin}/api/v1/query?${query}`);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { data } = JSON.parse(text) as {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

/** Serves the metrics of a port in the text format, whatever the client accepts; returns the port. */
export async function textPort(port: ScrapedPort): Promise<number> {
  const server = createServer(async (_, response) => {
    const metrics = await succeed(port, 'metrics', { accept: 'text/plain' });
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8').end(metrics);
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
