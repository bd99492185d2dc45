import type { Replacement } from './changed-source.ts'

/** A fault of the source itself, as replacements of its text. */
export type SourceFault = {
  /** What the system does wrong, as a sentence. */
  readonly name: string
  readonly replacements: readonly Replacement[]
  /** Why the fault harms nothing. Such a fault is not found. */
  readonly harmless?: string
}
