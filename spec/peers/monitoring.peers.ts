/**
 * The metrics of members in both text forms: promtool has no finding, Debian's Prometheus stores them
 * all, also with the scrape configuration of packaging/, and they include all metrics that the alerts
 * and the dashboard name.
 */
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { documentedMetrics } from '../docs/documented-metrics.ts';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { tlsFile } from '../tls/identity.ts';
import { EngineServer } from './engine-server.ts';
import { promtool, RULES, TARGETS } from './monitoring-examples.ts';
import { packaged } from './packaged-files.ts';
import { Prometheus, textPort } from './prometheus.ts';
import { PASSWORD, type ScrapedPort, scrapedMembers, succeed, USER } from './scraped-members.ts';
import { killAll } from './served-members.ts';
import { until } from './server-process.ts';

/** The media types of OpenMetrics and of the text format, as a scraper sends them. */
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0';
const TEXT = 'text/plain; version=0.0.4';
/** Number of scrapes that Prometheus makes of each port before it is queried, and the time between two. */
const SCRAPES = 4;
const INTERVAL = '2s';

const folder = temporaryFolder();
let server: EngineServer;
let ports: readonly ScrapedPort[] = [];

before(async () => {
  server = await EngineServer.start();
  ports = await scrapedMembers(folder, server.port);
});

after(async () => {
  await killAll();
  await server.stop();
});

describe('the metrics', () => {
  it('have no finding of promtool', async () => {
    for (const port of ports) {
      const text = await succeed(port, 'metrics', { accept: TEXT });
      assert.match(text, /^# TYPE gridnode_info gauge$/m);
      assert.equal(promtool(['check', 'metrics'], text), '', port.name);
    }
  });

  it('include all that the rules and the dashboard name', async () => {
    const reported = new Set<string>(['up']);
    for (const port of ports) {
      const text = await succeed(port, 'metrics', { accept: OPEN_METRICS });
      for (const [, name = ''] of text.matchAll(/^(\w+)[{ ]/gm)) reported.add(name);
    }
    const expressions = [...RULES, ...TARGETS].map(({ expr }) => expr);
    const named = expressions.flatMap((expr) =>
      [...expr.matchAll(METRIC_NAME)].map(([name]) => name),
    );
    assert.ok(named.length > 50);
    assert.deepEqual([...new Set(named)].filter((name) => !reported.has(name)).sort(), []);
  });

  it('are those of operations.md, with their types and labels', async () => {
    const reported = new Set<string>();
    for (const port of ports) {
      const text = await succeed(port, 'metrics', { accept: TEXT });
      for (const metric of metricsIn(text)) reported.add(metric);
    }
    const documented = new Set(
      documentedMetrics().map(({ name, type, labels }) => [name, type, ...labels].join(' ')),
    );
    const missing = [...documented].filter((metric) => !reported.has(metric));
    const further = [...reported].filter((metric) => !documented.has(metric));
    assert.deepEqual({ missing, further }, { missing: [], further: [] });
  });
});

const METRIC_NAME = /\b(gridnode|process|nodejs)_\w+/g;

/** Returns the name, type and labels of each metric in the text form. */
function metricsIn(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\w+) (\w+)\n\w+(?:\{(.*)\})? /gm)].map(
    ([, name, type, labels = '']) => {
      const names = [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label]) => label);
      return [name, type, ...names.filter((label) => label !== 'le')].join(' ');
    },
  );
}

describe('Prometheus, which scrapes all ports for both forms', () => {
  let jobs: readonly Job[] = [];
  let prometheus: Prometheus;

  before(async () => {
    jobs = await jobsOf(ports);
    prometheus = Prometheus.start({ scrape_configs: jobs }, folder, await freePort());
    await until(
      async () => (await countOf(`count_over_time(up[1m]) > ${SCRAPES}`)) === jobs.length,
    );
  });

  after(() => prometheus.stop());

  async function countOf(expression: string): Promise<number> {
    const [sample] = await prometheus.query(`count(${expression})`);
    return sample?.value ?? 0;
  }

  it('stores every sample of every scrape', async () => {
    assert.deepEqual(await prometheus.query('min_over_time(up[1m]) == 0'), []);
    // A dropped sample is missing in the first number; a repeated one is stored once.
    const stored = 'count by (job) ({__name__!~"up|scrape_.*",job!=""})';
    const scraped = 'sum by (job) (scrape_samples_scraped)';
    for (const other of ['sum by (job) (scrape_samples_post_metric_relabeling)', stored]) {
      await until(async () => (await countOf(`${scraped} == ${other}`)) === jobs.length);
    }
    assert.deepEqual(prometheus.problems, []);
  });

  it('gets each form, which write a bound of 1 in different ways', async () => {
    for (const { job_name: job } of jobs) {
      const bound = job.startsWith('text') ? '1' : '1.0';
      const buckets = `gridnode_http_request_duration_seconds_bucket{job="${job}",le="${bound}"}`;
      assert.ok((await countOf(buckets)) > 0, job);
    }
  });

  it('has values and labels for each curve of the dashboard', async () => {
    for (const { expr, legendFormat } of TARGETS) {
      const shown = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
      // Without the condition that hides values of 0.
      const [sample] = await prometheus.query(shown.replace(/ > 0$/, ''));
      assert.ok(sample, `${expr} has no values`);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        assert.ok(label in sample.labels, `${expr} has no ${label}`);
      }
    }
  });
});

interface Job {
  readonly job_name: string;
  readonly [field: string]: unknown;
}

/** Returns a job for each port and form. */
async function jobsOf(all: readonly ScrapedPort[]): Promise<Job[]> {
  const jobs: Job[] = [];
  const times = { scrape_interval: INTERVAL, scrape_timeout: INTERVAL };
  for (const each of all) {
    const targets = (port: number) => [{ targets: [`127.0.0.1:${port}`] }];
    jobs.push({
      job_name: `text-${each.name}`,
      static_configs: targets(await textPort(each)),
      ...times,
    });
    jobs.push({
      job_name: `open-metrics-${each.name}`,
      metrics_path: '/grid/metrics',
      static_configs: targets(each.port),
      ...(each.isTls && { scheme: 'https', tls_config: { ca_file: tlsFile('authority.pem') } }),
      ...(each.hasLogin && { basic_auth: { username: USER, password: PASSWORD } }),
      ...times,
    });
  }
  return jobs;
}

describe('the scrape configuration', () => {
  before(() => {
    for (const name of ['prometheus.yaml', 'prometheus-rules.yaml']) {
      writeFileSync(join(folder, name), packaged(name));
    }
    writeFileSync(join(folder, 'gridnode.password'), PASSWORD);
    copyFileSync(tlsFile('authority.pem'), join(folder, 'authority.pem'));
  });

  it('is accepted by promtool, with the rules', () => {
    promtool(['check', 'config', join(folder, 'prometheus.yaml')]);
  });

  it('reaches members on the health port, with a login, and with TLS', {
    timeout: 60_000,
  }, async (t) => {
    const config = parse(packaged('prometheus.yaml').replaceAll('15s', INTERVAL));
    const targets: Readonly<Record<string, string>> = {
      gridnode: 'plain-health',
      'gridnode-basic': 'secured-health',
      'gridnode-tls': 'secured',
    };
    for (const job of config.scrape_configs) {
      const found = ports.find(({ name }) => name === targets[job.job_name]);
      assert.ok(found, job.job_name);
      job.static_configs[0].targets = [`127.0.0.1:${found.port}`];
    }
    const prometheus = Prometheus.start(config, folder, await freePort());
    t.after(() => prometheus.stop());
    await until(async () => (await prometheus.query('up == 1')).length === 3);
    assert.deepEqual(prometheus.problems, []);
  });
});
