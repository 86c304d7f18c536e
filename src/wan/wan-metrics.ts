/** The metrics of WAN replication. */
import { counter, type Figures, gauge } from '../base/figures.ts';
import type { WanPublisher } from './publisher.ts';
import { PUBLISHER_STATES } from './wan-settings.ts';

const LABELS = ['replication', 'publisher'] as const;
const METRICS = {
  queuedEvents: gauge(
    'gridnode_wan_queued_events',
    'Events that the target has not acknowledged',
    ...LABELS,
  ),
  queuedBytes: gauge('gridnode_wan_queued_bytes', 'Bytes of the queued events', ...LABELS),
  lag: gauge('gridnode_wan_lag_seconds', 'Age of the oldest queued event', ...LABELS),
  state: gauge('gridnode_wan_state', 'State of the publisher', ...LABELS, 'state'),
  sent: counter(
    'gridnode_wan_sent_events_total',
    'Events that the target has acknowledged',
    ...LABELS,
  ),
  dropped: counter(
    'gridnode_wan_dropped_events_total',
    'Events not queued because the queue was full',
    ...LABELS,
  ),
  rejected: counter(
    'gridnode_wan_rejected_events_total',
    'Events skipped because the target can never accept them',
    ...LABELS,
  ),
};

type Reported = Pick<WanPublisher, 'replication' | 'id' | 'status' | 'eventCounts'>;

export function reportWan(to: Figures, publishers: readonly Reported[]): void {
  for (const { replication, id, status, eventCounts } of publishers) {
    to.add(METRICS.queuedEvents, status.queueSize, replication, id);
    // The bytes on servers are not known.
    if (status.queueBytes >= 0) to.add(METRICS.queuedBytes, status.queueBytes, replication, id);
    to.add(METRICS.lag, status.lagMillis / 1000, replication, id);
    to.addState(METRICS.state, PUBLISHER_STATES, status.state, replication, id);
    to.add(METRICS.sent, eventCounts.sent, replication, id);
    to.add(METRICS.dropped, eventCounts.dropped, replication, id);
    to.add(METRICS.rejected, eventCounts.rejected, replication, id);
  }
}
