/**
 * A case that fires and one that does not for each alert of packaging/prometheus-rules.yaml, as
 * series in the notation of `promtool test rules`: `1x5` is 1 and five more values of 1, `_` is a
 * missing one.
 */

type Labels = Readonly<Record<string, string>>;
/** The values of series, by series. Each begins at time 0. */
type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  /** Time between two values; one minute by default. */
  readonly interval?: string;
  /** Time at which the alert fires for `fires` and for no series of `quiet`. */
  readonly at: string;
  readonly fires: Series;
  readonly quiet: Series;
  /** The summary of the alert that fires, and its labels besides the severity. */
  readonly summary: string;
  readonly labels: Labels;
}

const MEMBER: Labels = { job: 'gridnode', instance: 'a' };
/** A process that is no member. */
const OTHER: Labels = { job: 'node', instance: 'a' };
const QUEUE: Labels = { ...MEMBER, queue: 'jobs' };
const PUBLISHER: Labels = { ...MEMBER, replication: 'w', publisher: 'p' };

const BACKUP = series('gridnode_backup_timestamp_seconds');
const CERTIFICATE = series('gridnode_tls_certificate_expiry_timestamp_seconds');
const CP_GROUPS = series('gridnode_cp_groups');
const DROPPED = series('gridnode_wan_dropped_events_total', PUBLISHER);
const FAILED_LOGINS = series('gridnode_failed_logins_total');
const ITEMS = itemsOf('jobs');
const LAG = series('gridnode_wan_lag_seconds', PUBLISHER);
const LIMIT = series('gridnode_memory_limit_bytes');
const CAPACITY = series('gridnode_queue_capacity_items', QUEUE);
const REACHABLE = series('gridnode_engine_reachable');
const READY = series('gridnode_ready');
const REFUSED = series('gridnode_http_connections_refused_total');
const REJECTED = series('gridnode_wan_rejected_events_total', PUBLISHER);
const SAFE = series('gridnode_cluster_safe');
const STARTED = series('process_start_time_seconds');
const THROTTLED = series('gridnode_throttled_logins_total');
const UNKNOWN = series('gridnode_engine_unknown_outcomes_total');
const USED = series('gridnode_memory_used_bytes');

/** The cases by alert. */
export const ALERT_CASES: Readonly<Record<string, readonly AlertCase[]>> = {
  GridnodeDown: [
    {
      at: '5m',
      fires: { [series('up', { ...MEMBER, job: 'gridnode-tls' })]: '1 0x5' },
      quiet: { [series('up', OTHER)]: '0x5', [series('up')]: '1x3 0 1' },
      summary: 'a does not answer',
      labels: { ...MEMBER, job: 'gridnode-tls' },
    },
  ],
  GridnodeNotReady: [
    {
      at: '12m',
      fires: { [READY]: '0x12' },
      quiet: { [READY]: '1x4 0x7' },
      summary: 'a is not ready',
      labels: MEMBER,
    },
  ],
  GridnodeNotSafe: [
    {
      at: '7m',
      fires: { [SAFE]: '0x7' },
      quiet: { [SAFE]: '1x3 0x3' },
      summary: 'a does not store changes as configured',
      labels: MEMBER,
    },
  ],
  GridnodeDiskFull: [diskCase('full', 'is full')],
  GridnodeDiskFailed: [diskCase('failed', 'has failed')],
  GridnodeRestarts: [
    {
      at: '40m',
      fires: { [STARTED]: '100x10 700x10 1300x10 1900x10' },
      quiet: { [STARTED]: '100x20 1300x20' },
      summary: 'a restarted 3 times in an hour',
      labels: MEMBER,
    },
    {
      at: '40m',
      fires: { [STARTED]: '100x9 700x9 _x5 1300x9 1900x9' },
      quiet: { [series('process_start_time_seconds', OTHER)]: '100+60x40' },
      summary: 'a restarted 3 times in an hour',
      labels: MEMBER,
    },
  ],
  GridnodeErrors: [
    {
      at: '12m',
      fires: { [lines('error')]: '_x10 1x2' },
      quiet: { [lines('error')]: '1x12', [lines('warn')]: '_x10 5x2' },
      summary: 'a has logged lines of level error',
      labels: { ...MEMBER, level: 'error' },
    },
    {
      at: '30m',
      fires: { [lines('fatal')]: '7x25 8x5' },
      quiet: { [lines('fatal')]: '7x12 8x18' },
      summary: 'a has logged lines of level fatal',
      labels: { ...MEMBER, level: 'fatal' },
    },
  ],
  GridnodeBackupOld: [
    {
      interval: '5m',
      at: '49h',
      fires: { [BACKUP]: '0x600' },
      quiet: { [BACKUP]: '0x400 86400x200' },
      summary: 'The newest backup of a is 2d 1h 0m 0s old',
      labels: MEMBER,
    },
  ],
  GridnodeMemoryNearlyUsed: [
    {
      at: '6m',
      fires: { [USED]: '950x6', [LIMIT]: '1000x6' },
      quiet: { [USED]: '900x2 950x3', [LIMIT]: '1000x6' },
      summary: 'a uses 95% of its memory for data',
      labels: MEMBER,
    },
  ],
  GridnodeQueueNearlyFull: [
    {
      at: '6m',
      fires: { [ITEMS]: '99x6', [CAPACITY]: '100x6' },
      quiet: { [ITEMS]: '90x2 99x3', [CAPACITY]: '100x6' },
      summary: 'Queue jobs of a is 99% full',
      labels: QUEUE,
    },
  ],
  GridnodeQueueGrows: [
    {
      at: '70m',
      fires: { [ITEMS]: '1+1x70' },
      quiet: {
        [itemsOf('constant')]: '5x70',
        [itemsOf('growing for 20 minutes')]: '5x50 6+1x19',
        [itemsOf('sometimes empty')]: '0 10x8 0 20x8 0 30x8 0 40x8 0 50x8 0 60x8 0 70x8',
      },
      summary: 'Queue jobs of a has been growing for an hour',
      labels: QUEUE,
    },
  ],
  GridnodeWanLag: [
    {
      at: '10m',
      fires: { [LAG]: '90x10' },
      quiet: { [LAG]: '60x6 90x3' },
      summary: 'WAN publisher p of a lags by 1m 30s',
      labels: PUBLISHER,
    },
  ],
  GridnodeWanEventsLost: [
    {
      at: '20m',
      fires: { [DROPPED]: '0x15 3x5' },
      quiet: { [DROPPED]: '3x20', [REJECTED]: '0x20' },
      summary: 'WAN publisher p of a dropped changes, or its target rejected some',
      labels: PUBLISHER,
    },
    {
      at: '20m',
      fires: { [REJECTED]: '_x15 3x5', [DROPPED]: '0x20' },
      quiet: {},
      summary: 'WAN publisher p of a dropped changes, or its target rejected some',
      labels: PUBLISHER,
    },
  ],
  GridnodeRequestsFail: [
    {
      at: '20m',
      fires: {
        [requests('rest/maps/{map}/{key}', '503')]: '_x15 1x5',
        [requests('rest/maps/{map}/{key}', '500')]: '4x20',
      },
      quiet: {
        [requests('rest/maps/{map}/{key}', '503')]: '1x20',
        [requests('rest/maps/{map}/{key}', '200')]: '1+9x20',
        [requests('health/ready', '503')]: '1+1x20',
      },
      summary: 'Requests for rest/maps/{map}/{key} fail on a',
      labels: { ...MEMBER, route: 'rest/maps/{map}/{key}' },
    },
    {
      at: '20m',
      fires: { [requests('rest/cluster', '500')]: '1x15 2x5' },
      quiet: {},
      summary: 'Requests for rest/cluster fail on a',
      labels: { ...MEMBER, route: 'rest/cluster' },
    },
  ],
  GridnodeConnectionsRefused: [sinceCase(REFUSED, 'a has refused connections')],
  GridnodeLoginsFail: [
    {
      at: '20m',
      fires: { [FAILED_LOGINS]: '0+5x20', [THROTTLED]: '0x20' },
      quiet: { [FAILED_LOGINS]: '0+1x20', [THROTTLED]: '4x20' },
      summary: 'Many logins fail on a',
      labels: MEMBER,
    },
    sinceCase(THROTTLED, 'Many logins fail on a'),
  ],
  GridnodeCertificateExpires: [
    {
      at: '1m',
      fires: { [CERTIFICATE]: `${13 * 86_400}x2` },
      quiet: { [CERTIFICATE]: `${15 * 86_400}x2` },
      summary: 'The TLS certificate of a expires within two weeks',
      labels: MEMBER,
    },
  ],
  GridnodeServersUnreachable: [
    {
      at: '3m',
      fires: { [REACHABLE]: '0x3' },
      quiet: { [REACHABLE]: '0 1x2' },
      summary: 'a cannot reach its servers',
      labels: MEMBER,
    },
  ],
  GridnodeOutcomesUnknown: [
    sinceCase(UNKNOWN, 'a could not determine whether some changes took effect'),
  ],
  GridnodeCpGroupsNearlyUsed: [
    {
      at: '8m',
      fires: { [CP_GROUPS]: '1 901x7' },
      quiet: { [CP_GROUPS]: '901x5 900x3' },
      summary: 'There are 901 CP groups, and 1,000 are permitted',
      labels: MEMBER,
    },
  ],
};

function diskCase(state: 'full' | 'failed', text: string): AlertCase {
  const disk = series(`gridnode_disk_${state}`);
  const summary = `The disk of a ${text}`;
  const labels = MEMBER;
  return { at: '1m', fires: { [disk]: '0 1' }, quiet: { [disk]: '1 0' }, summary, labels };
}

/** An event whose series begins with it, and one that happened more than ten minutes ago. */
function sinceCase(event: string, summary: string): AlertCase {
  const labels = MEMBER;
  return { at: '20m', fires: { [event]: '_x15 1x5' }, quiet: { [event]: '1x20' }, summary, labels };
}

function series(name: string, labels: Labels = MEMBER): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${pairs.join(',')}}`;
}

function itemsOf(queue: string): string {
  return series('gridnode_queue_items', { ...QUEUE, queue });
}

function lines(level: string): string {
  return series('gridnode_log_lines_total', { ...MEMBER, level });
}

function requests(route: string, status: string): string {
  return series('gridnode_http_requests_total', { ...MEMBER, route, method: 'GET', status });
}
