/** The systems whose clients get the answers that they expect, where these differ from ours. */
export const COMPATIBILITIES = ['none', 'hazelcast'] as const;

export type Compatibility = (typeof COMPATIBILITIES)[number];

/** Takes any case; undefined where there is none of that name. */
export function parseCompatibility(text: string): Compatibility | undefined {
  const lower = text.toLowerCase();
  return COMPATIBILITIES.find((name) => name === lower);
}
