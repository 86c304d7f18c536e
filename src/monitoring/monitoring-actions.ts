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
  /** Resolves with the OpenAPI document. */
  readonly document: () => Promise<string>;
}

export function monitoringActions({
  monitoring,
  document: makeDocument,
}: MonitoringParts): Actions<typeof MONITORING_ROUTES> {
  let document: Promise<Buffer> | undefined;
  return {
    metrics({ request }) {
      const format = metricsFormat(request.head.fieldText(ACCEPT));
      request.respond(200, Span.of(format.contentType), monitoring.scrape(format));
    },
    openApi(call) {
      document ??= makeDocument().then((text) => Buffer.from(text));
      call.await(document, (bytes) => call.request.respond(200, JSON_TYPE, bytes));
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
