/**
 * Refuses to run on a version of Node that is too old. The executable loads this file before any other,
 * so it uses only syntax that such a version supports, and imports nothing.
 */
const MAJOR = 20;
const MINOR = 20;

/** Returns the error for a version such as `v20.20.0`; empty if it is supported. */
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
