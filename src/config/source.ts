/** The source of a value, named as the user wrote it. Tested by environment.spec.ts. */
import { formatPlace, type Place } from './place.ts';

export interface Source {
  readonly kind: 'default' | 'file' | 'environment' | 'flag';
  /** `--port`, `conf.yaml:3:7`, `GRID_CLUSTERNAME`; empty for a default. */
  readonly name: string;
  /** Calculation of a default: `70 % of 256 MiB, container`. */
  readonly from?: string;
}

export const DEFAULT: Source = { kind: 'default', name: '' };

/** Returns the source of a value at the place. */
export function sourceAt(at: Place): Source {
  return { kind: at.line === 0 ? 'environment' : 'file', name: formatPlace(at) };
}
