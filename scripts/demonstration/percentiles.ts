/** p50, p95, p99 and the largest of some numbers, as `1 / 2 / 3 / 4 ms`. */
export function percentiles(values: readonly number[]): string {
  if (values.length === 0) return 'none'
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)]
  return `${[at(0.5), at(0.95), at(0.99), sorted.at(-1)].map(value => Math.round(value ?? 0)).join(' / ')} ms`
}
