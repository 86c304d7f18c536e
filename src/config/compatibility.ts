/**
 * The systems whose clients can get the responses that they expect, where gridnode's differ.
 * Tested by member/config.spec.ts.
 */
export const COMPATIBILITIES = ['none', 'hazelcast'] as const;

export type Compatibility = (typeof COMPATIBILITIES)[number];

/** Parses a name in any case; returns undefined for an unknown one. */
export function parseCompatibility(text: string): Compatibility | undefined {
  const lower = text.toLowerCase();
  return COMPATIBILITIES.find((name) => name === lower);
}
