/** Whose clients the member answers, beyond what all of them have in common. */
export const COMPATIBILITIES = ['none', 'hazelcast'] as const;

export type Compatibility = (typeof COMPATIBILITIES)[number];

/** In any case; undefined when there is none of that name. */
export function parseCompatibility(text: string): Compatibility | undefined {
  const lower = text.toLowerCase();
  return COMPATIBILITIES.find((name) => name === lower);
}
