/** Monitoring: the metrics, the OpenAPI document and the status of the member. */
import { Span } from '../base/span.ts';
import { ACCEPT } from '../http/header-fields.ts';
import { JSON_TYPE } from '../http/request.ts';
import type { Actions } from '../surface/action.ts';
import { respondJson } from '../surface/responses.ts';
import { metricsFormat } from '../telemetry/metrics-text.ts';
import type { Monitoring } from './monitoring.ts';
import type { MONITORING_ROUTES } from './monitoring-routes.ts';

interface MonitoringParts {
  readonly monitoring: Pick<Monitoring, 'scrape' | 'status'>;
  /** Returns the OpenAPI document. */
  readonly document: () => string;
}

export function monitoringActions({
  monitoring,
  document: makeDocument,
}: MonitoringParts): Actions<typeof MONITORING_ROUTES> {
  let document: Buffer | undefined;
  return {
    metrics({ request }) {
      const format = metricsFormat(request.head.fieldText(ACCEPT));
      request.respond(200, Span.of(format.contentType), monitoring.scrape(format));
    },
    openApi({ request }) {
      document ??= Buffer.from(makeDocument());
      request.respond(200, JSON_TYPE, document);
    },
    memberStatus(call) {
      const { pathEnd, target } = call.request.head;
      if (pathEnd === target.end) return respondJson(call, monitoring.status());
      const query = target.bytes.toString('latin1', pathEnd, target.end);
      const values = { action: call.describe(), seen: JSON.stringify(query) };
      call.request.refuse('QUERY_NOT_ALLOWED', values);
    },
  };
}
