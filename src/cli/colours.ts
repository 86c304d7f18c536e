/** Decides whether lines on a terminal have colours. */

/** NO_COLOR overrides FORCE_COLOR, which overrides TERM. By default lines have colours. */
export function hasColours(environment: NodeJS.ProcessEnv): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '', TERM } = environment;
  if (NO_COLOR !== '') return false;
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return TERM !== 'dumb';
}
