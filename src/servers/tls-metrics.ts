/** The metrics of TLS. */
import { type Figures, gauge } from '../base/figures.ts';
import type { TlsIdentity } from '../http/tls.ts';

const METRICS = {
  expiry: gauge(
    'gridnode_tls_certificate_expiry_timestamp_seconds',
    'End of the validity of the certificate in use, in seconds since 1970',
  ),
};

/** `identity`: undefined if TLS is off. */
export function reportTls(to: Figures, identity: TlsIdentity | undefined): void {
  if (identity?.expiryMs !== undefined) to.add(METRICS.expiry, identity.expiryMs / 1000);
}
