/** Finds only the health paths, for the separate health listener; every other path is unknown. */
import type { Request } from '../http/request.ts';
import type { Match } from './route-compiler.ts';
import type { PathParts, RouteFinder } from './router.ts';

export class HealthRouter implements RouteFinder {
  readonly #router: RouteFinder;

  /** `router`: finds all paths. */
  constructor(router: RouteFinder) {
    this.#router = router;
  }

  match(request: Request, parts: PathParts): Match | undefined {
    const found = this.#router.match(request, parts);
    return found?.group === 'HEALTH_CHECK' ? found : undefined;
  }
}
