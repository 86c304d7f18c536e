/**
 * Refuses to run on a Node that is too old. The executable loads this before anything else, so it holds
 * to what such a Node can read and loads nothing.
 */
const MAJOR = 20;
const MINOR = 20;

/** What is wrong with the version, `v20.20.0` for one; empty for nothing. */
export function versionFault(version: string): string {
  const parts = version.replace(/^v/, '').split('.');
  const major = Number(parts[0]);
  if (major > MAJOR || (major === MAJOR && Number(parts[1]) >= MINOR)) return '';
  return `Cannot run on Node ${version}: gridnode needs Node ${MAJOR}.${MINOR} or newer`;
}

const fault = versionFault(process.version);
if (fault !== '') {
  console.error(fault);
  process.exit(2);
}
