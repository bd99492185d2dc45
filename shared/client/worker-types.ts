/** A live worker; those of Lambda are one per type, with no `lastSeen`. */
export type ApiWorker = {
  readonly id: string
  readonly kind: 'standalone' | 'http' | 'lambda'
  readonly version?: string
  readonly types: readonly string[]
  /** How many tasks it runs. */
  readonly running: number
  readonly lastSeen?: string
}
