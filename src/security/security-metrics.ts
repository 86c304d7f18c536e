/** The metrics of security. */
import { counter, type Figures } from '../base/figures.ts';
import type { RefusedLogins } from './counted-credentials.ts';

const METRICS = {
  failed: counter('gridnode_failed_logins_total', 'Logins refused because of wrong credentials'),
  throttled: counter(
    'gridnode_throttled_logins_total',
    'Logins refused without a check because of earlier failures or too many at a time',
  ),
};

export function reportSecurity(to: Figures, { failed, throttled }: RefusedLogins): void {
  to.add(METRICS.failed, failed);
  to.add(METRICS.throttled, throttled);
}
