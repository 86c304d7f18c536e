/** Numbers in texts for people: a count with its noun, and a number of bytes with its unit. */

/** Returns `1 file` or `2 files`. `plural`: of words that take more than an s. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

const UNITS = ['kB', 'MB', 'GB', 'TB'] as const;
/** From this number of bytes up, a larger unit is used. */
const ROUNDED_FROM = 10_000;

/** Returns a size with two digits or more, in powers of 1,000: `812 bytes`, `1.5 MB`, `150 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < ROUNDED_FROM) return counted(bytes, 'byte');
  let unit = 0;
  let size = bytes / 1000;
  while (size >= 999.5 && unit < UNITS.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`;
}
