/**
 * The REST interface as an application of the HTTP server: a handler for each slot of its requests.
 * Tested by administration/administration.spec.ts.
 */
import type { Application, RequestHandler } from '../http/application.ts';
import type { Exchange } from '../http/exchange.ts';
import { RestHandler } from './rest-handler.ts';
import type { RouteFinder } from './router.ts';
import type { RestServices } from './services.ts';

export class RestApplication implements Application {
  readonly #router: RouteFinder;
  readonly #services: RestServices;

  constructor(router: RouteFinder, services: RestServices) {
    this.#router = router;
    this.#services = services;
  }

  open(exchange: Exchange): RequestHandler {
    return new RestHandler(exchange, this.#router, this.#services);
  }
}
