/** The health paths alone; every other path is nowhere. For a listener of their own. */
import type { Request } from '../http/request.ts';
import type { Match, PathParts, RouteFinder } from './router.ts';

export class HealthRouter implements RouteFinder {
  readonly #router: RouteFinder;

  /** `router` knows every path. */
  constructor(router: RouteFinder) {
    this.#router = router;
  }

  match(request: Request, parts: PathParts): Match | undefined {
    const found = this.#router.match(request, parts);
    return found?.group === 'HEALTH_CHECK' ? found : undefined;
  }
}
